// Runs a fuzz target over files, without libFuzzer: the corpus is a test of every ordinary build.
// Arguments: files or folders; what isn't there counts as empty. The empty input always runs.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

bool run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot open %s\n", path.c_str());
    return false;
  }
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  std::fprintf(stderr, "%s\n", path.c_str());  // before the run: a crash then names its input
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerTestOneInput(nullptr, 0);
  bool all_read = true;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    if (!std::filesystem::is_directory(path)) {
      all_read = (!std::filesystem::exists(path) || run_file(path)) && all_read;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      all_read = run_file(entry.path()) && all_read;
    }
  }
  return all_read ? 0 : 1;
}
