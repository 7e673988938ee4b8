# A man page of section 5 from what `muster job` and `muster events` print. Needs -v kind=, page=, version=, summary= and
# about=.
#   job:     "[table]" or a sentence: a heading; two blanks: a key; six: what it may be, what it does.
#   events:  "name: meaning"; four blanks: a field of it.
function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text ~ /^[.']/ ? "\\&" text : text
}
BEGIN {
  printf ".\\\" Written by the build from what the program prints.\n.TH %s 5 \"\" \"Muster %s\"\n", toupper(page), version
  printf ".SH NAME\n%s \\- %s\n.SH DESCRIPTION\n%s\n", page, summary, plain(about)
  if (kind == "events") print ".SH EVENTS"
}
/^ *$/ { next }
kind == "job" && /^[^ ]/ { printf ".SH \"%s\"\n", plain($0); next }
kind == "job" && /^  [^ ]/ { printf ".TP\n.B %s\n", plain(substr($0, 3)); first = 1; next }
kind == "job" { if (!first) print ".br"; first = 0; print plain(substr($0, 7)); next }
/^[^ ]/ { if (inside) print ".RE"; inside = 0; at = index($0, ": "); printf ".TP\n.B %s\n%s\n", plain(substr($0, 1, at - 1)), plain(substr($0, at + 2)); next }
{ if (!inside) print ".RS"; inside = 1; line = substr($0, 5); at = index(line, ": "); printf ".TP\n.I %s\n%s\n", plain(substr(line, 1, at - 1)), plain(substr(line, at + 2)) }
END { if (inside) print ".RE"; printf ".SH SEE ALSO\n.BR muster (1)\n" }
