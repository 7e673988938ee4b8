#include "muster/command_line.hpp"

int main(int argc, char** argv) {
  return muster::main(argc, argv, muster::builtin_registry());
}
