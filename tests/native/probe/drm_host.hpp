#pragma once
// A host with graphics cards, and processes that have them open.

#include <filesystem>
#include <string>
#include <string_view>

#include "host_tree.hpp"

namespace probe {

class DrmHost {
 public:
  // A copy of tests/data/hosts/made/KIND; "": no cards.
  explicit DrmHost(std::string_view kind) {
    if (kind.empty()) return;
    namespace fs = std::filesystem;
    const fs::path from = fs::path(JUMPER_TEST_DATA "/hosts/made") / kind;
    fs::copy(from, root(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  [[nodiscard]] std::string root() const { return tree_.root(); }
  [[nodiscard]] std::filesystem::path path(std::string_view file) const {
    return std::filesystem::path(root()) / file;
  }

  // Replaces it at once: who reads at the same time sees the old text or the new one.
  void write(std::string_view file, std::string_view text) const {
    tree_.write("new", text);
    std::filesystem::create_directories(path(file).parent_path());
    std::filesystem::rename(path("new"), path(file));
  }
  void remove(std::string_view file) const { std::filesystem::remove_all(path(file)); }

  // Process `pid` has `number` open: a link to `target`, and the kernel's text about it.
  void open(int pid, int number, std::string_view target, std::string_view text) const {
    const std::string folder = "proc/" + std::to_string(pid);
    const std::string name = "/" + std::to_string(number);
    write(folder + "/fdinfo" + name, text);
    std::filesystem::create_directories(path(folder + "/fd"));
    remove(folder + "/fd" + name);
    std::filesystem::create_symlink(target, path(folder + "/fd" + name));
  }
  void close(int pid, int number) const {
    const std::string folder = "proc/" + std::to_string(pid);
    remove(folder + "/fd/" + std::to_string(number));
    remove(folder + "/fdinfo/" + std::to_string(number));
  }
  void end(int pid) const { remove("proc/" + std::to_string(pid)); }

 private:
  HostTree tree_;
};

// As amdgpu writes it from Linux 5.19 on.
inline std::string amd_client(std::string_view slot, int id, std::int64_t vram_kib,
                              std::int64_t gfx_ns, std::string_view more = "") {
  std::string text = "pos:\t0\nflags:\t02100002\nmnt_id:\t27\nino:\t614\npasid:\t32784\n";
  text += "drm-driver:\tamdgpu\ndrm-pdev:\t" + std::string(slot);
  text += "\ndrm-client-id:\t" + std::to_string(id);
  text += "\ndrm-memory-vram:\t" + std::to_string(vram_kib) + " KiB\n";
  text += "drm-memory-gtt: \t8192 KiB\ndrm-memory-cpu: \t0 KiB\n";
  text += "amd-evicted-vram:\t77 KiB\namd-requested-vram:\t99999 KiB\n";
  if (gfx_ns > 0) text += "drm-engine-gfx:\t" + std::to_string(gfx_ns) + " ns\n";
  return text.append(more);
}

// As i915 writes it.
inline std::string i915_client(int id, std::int64_t render_ns, std::int64_t video_ns) {
  return "drm-driver: i915\ndrm-client-id: " + std::to_string(id) +
         "\ndrm-pdev: 0000:00:02.0\ndrm-total-system0: 6044 KiB\ndrm-shared-system0: 0\n"
         "drm-active-system0: 0\ndrm-resident-system0: 4000 KiB\ndrm-purgeable-system0: 1688 KiB\n"
         "drm-total-stolen-system0: 12 KiB\ndrm-resident-stolen-system0: 12 KiB\n"
         "drm-engine-render: " +
         std::to_string(render_ns) +
         " ns\ndrm-engine-copy: 0 ns\ndrm-engine-video: " + std::to_string(video_ns) +
         " ns\ndrm-engine-capacity-video: 2\n" + "drm-engine-video-enhance: 0 ns\n";
}

// As xe writes it.
inline std::string xe_client(int id, std::int64_t ccs_cycles, std::int64_t total_cycles) {
  const std::string total = std::to_string(total_cycles);
  return "drm-driver:\txe\ndrm-client-id:\t" + std::to_string(id) +
         "\ndrm-pdev:\t0000:03:00.0\ndrm-total-system:\t0\ndrm-resident-system:\t0\n"
         "drm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t64 MiB\n"
         "drm-shared-vram0:\t16 MiB\ndrm-resident-vram0:\t23992 KiB\ndrm-resident-stolen:\t4 KiB\n"
         "drm-cycles-rcs:\t0\ndrm-total-cycles-rcs:\t" +
         total + "\ndrm-cycles-ccs:\t" + std::to_string(ccs_cycles) + "\ndrm-total-cycles-ccs:\t" +
         total + "\ndrm-engine-capacity-ccs:\t4\n";
}

}  // namespace probe
