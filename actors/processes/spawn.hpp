// How this program starts processes of itself, and how such a process knows what it is.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace muster {

/// The exit code of a child that would start a run of its own: its program does not call muster::main.
inline constexpr int kNoMainCode = 76;

/// What its author has to do then.
extern const char* const kNoMainAdvice;

/// "exited with code 1", "was ended by signal 9 (Killed)", of what waitpid tells.
std::string text_of_exit(int status);

/// One descriptor of this process under a number in the child.
struct Handed {
  int descriptor;  ///< not one of the numbers that are handed on
  int number;
};

/// Starts `command` in a process group of its own (a terminal's Ctrl-C does not reach it), without input, its
/// output on stderr, marked as a child of this process. `note`: the descriptor of a CallNote, or -1. Returns
/// its pid, or -1 with the reason in errno.
pid_t spawn_child(const std::vector<std::string>& command, const std::vector<Handed>& handed = {},
                  int note = -1);

/// In a process that spawn_child started with a note: its descriptor here, once; else -1.
int take_note_descriptor();

/// A descriptor that becomes readable when the process ends; or -1.
int open_pidfd(pid_t pid);

/// The calling process does not outlive the one that started it. `parent`: that one's pid; if another one is
/// the parent now it ends at once. 0: nothing.
void end_with_parent(pid_t parent);

/// In a process that spawn_child started: says on stderr that its program does not call muster::main, and
/// ends it with kNoMainCode. Elsewhere nothing. What it starts in turn is no such child.
void end_if_child();

}  // namespace muster
