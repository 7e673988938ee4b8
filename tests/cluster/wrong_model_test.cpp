// Every wrong choice of a model: none, two, what is not there, what does not fit the data.
#include "tests/cluster/refusals.hpp"

namespace muster::wrong_model_test {
namespace {

using namespace muster::cluster_test;

std::string with_model(const std::string& lines) {
  std::string text = linear_job();
  const std::string old = "name = \"linear\"\ninputs = 8\noutputs = 3\n";
  return text.replace(text.find(old), old.size(), lines);
}

TEST(WrongInput, NoModelAndTwoModels) {
  expect_refused(Folder(), with_model("inputs = 8\n"),
                 {"job.toml:3:2: model.name: missing", "\"linear\"", "library = \"libmodel.so\""});
  expect_refused(Folder(), with_model("name = \"linear\"\nlibrary = \"libmine.so\"\n"),
                 {"job.toml:5:11: model.library: incompatible with model.name", "\"linear\"", "exactly one"});
  expect_refused(Folder(), with_model("file = \"x.pt\"\nlibrary = \"libmine.so\"\n"),
                 {"model.library: incompatible with model.file", "exactly one of them"});
}

TEST(WrongInput, ALibraryThatIsNone) {
  const Folder folder;
  folder.write("libmine.so", "no library");
  expect_refused(folder, with_model("library = \"" + folder.path("libmin.so") + "\"\n"),
                 {"job.toml:4:11: model.library: no such file", "did you mean", "libmine.so"});
  expect_refused(folder, with_model("library = \"" + folder.path("libmine.so") + "\"\n"),
                 {"job.toml:4:11: model.library: cannot be loaded"});
  expect_refused(folder, with_model("library = \"/lib/x86_64-linux-gnu/libz.so.1\"\n"),
                 {"job.toml:4:11: model.library: is no library of models", "MUSTER_MODEL_LIBRARY"});
  expect_refused(folder, with_model("name = \"linear\"\nentry = \"mine\"\n"),
                 {"job.toml:5:9: model.entry: belongs to model.library"});
}

TEST(WrongInput, AnEntryAndAnOptionThatTheLibraryHasNot) {
  const std::string library = std::string("library = \"") + MUSTER_BINARY_DIR + "/lib/libhuber.so\"\n";
  expect_refused(Folder(), with_model(library + "entry = \"hubert\"\n"),
                 {"job.toml:5:9: model.entry: not in the library", "did you mean \"huber\"?"});
  expect_refused(Folder(), with_model(library + "kne = 2.0\n"),
                 {"job.toml:5:1: model.kne: unknown key", "did you mean model.knee?"});
  expect_refused(Folder(), with_model(library + "inputs = 9\n"),
                 {"job.toml:5:10: model.inputs: samples must be float32 [9] and [1]"});
}

#ifdef MUSTER_WITH_TORCH
TEST(WrongInput, AFileThatIsNoScript) {
  const Folder folder;
  folder.write("model.pt", "no script");
  expect_refused(folder, with_model("file = \"" + folder.path("modl.pt") + "\"\ninput = [8]\n"),
                 {"job.toml:4:8: model.file: no such file", "did you mean", "model.pt"});
  const std::string file = "file = \"" + folder.path("model.pt") + "\"\n";
  expect_refused(folder, with_model(file), {"model.input: missing", "a list of integers"});
  expect_refused(folder, with_model(file + "input = [8]\nloss = \"cross\"\n"),
                 {"job.toml:6:8: model.loss", "\"next_token\""});
  expect_refused(folder, with_model(file + "input = [8]\n"),
                 {"job.toml:4:8: model.file: ", "is not a TorchScript module", "torch.jit.script"});
}

TEST(WrongInput, ABuiltInModelThatDoesNotFitTheData) {
  expect_refused(Folder(), with_model("name = \"mlp\"\nsizes = [9, 3]\n"),
                 {"job.toml:3:2: model: labels are float32 [3]"});
  expect_refused(Folder(), with_model("name = \"gpt2\"\nlayers = 1\nheads = 3\nwidth = 16\n"),
                 {"job.toml:6:9: model.heads: 3 heads do not share out a width of 16"});
  expect_refused(
      Folder(),
      with_model("name = \"gpt2\"\nlayers = 1\nheads = 1\nwidth = 4\ncontext = 8\nvocabulary = 9\n"),
      {"job.toml:3:2: model: samples are float32 [8], the model takes int64 tokens"});
}

std::string tokens_job(const std::string& tokens, int data_vocabulary, int data_context) {
  return "[model]\nname = \"gpt2\"\nlayers = 1\nheads = 1\nwidth = 4\ncontext = 8\nvocabulary = 100\n[data]\n"
         "source = \"tokens\"\ntrain = \"" +
         tokens + "\"\ntype = \"uint8\"\nvocabulary = " + std::to_string(data_vocabulary) +
         "\ncontext = " + std::to_string(data_context) + "\n";
}

TEST(WrongInput, TokensThatDoNotFitTheModel) {
  const Folder folder;
  const std::string file = folder.write("tokens", "the text of a file, and more");
  expect_refused(
      folder, tokens_job(file, 100, 8),
      {"job.toml:10:9: data.train: ", "holds token 116 at position 0", "raise it to at least 117"});
  expect_refused(folder, tokens_job(file, 256, 8),
                 {"job.toml:1:2: model: token 1", "vocabulary is 100", "at least data.vocabulary"});
  expect_refused(folder, tokens_job(folder.write("low", "1234567890123"), 100, 9),
                 {"job.toml:1:2: model: samples predict 9 tokens, the model takes at most 8"});
}
#endif

}  // namespace
}  // namespace muster::wrong_model_test
