# What Doxygen reads of a page: links to other pages stay (Doxygen names headings in its own way, so they lead to the page),
# links to files of the sources become their text.
/^```/ { code = !code }
code { print; next }
{
  rest = $0
  out = ""
  while (match(rest, /\[[^][]*\]\([^) ]+\)/)) {
    link = substr(rest, RSTART, RLENGTH)
    out = out substr(rest, 1, RSTART - 1)
    rest = substr(rest, RSTART + RLENGTH)
    split_at = index(link, "](")
    text = substr(link, 2, split_at - 2)
    target = substr(link, split_at + 2, length(link) - split_at - 2)
    if (target !~ /^[a-z]+:/) sub(/#.*/, "", target)
    if (target ~ /^[a-z]+:/ || (target ~ /\.md$/ && target !~ /(README|CONTRIBUTING|CHANGELOG)\.md$/)) {
      out = out "[" text "](" target ")"
    } else {
      out = out text
    }
  }
  print out rest
}
