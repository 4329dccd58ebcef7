#pragma once
// Which of the driver's cards are measured: those that the process may use. On the driver's thread.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "probe/gpu_cards.hpp"
#include "probe/gpu_device.hpp"
#include "probe/missing.hpp"
#include "probe/nvml_library.hpp"
#include "probe/visible_devices.hpp"
#include "record/records.hpp"

namespace probe {

class GpuSet {
 public:
  struct Member {
    GpuDevice device;
    bool visible = true;  // false: it was once, its columns stay
  };

  explicit GpuSet(GpuLevels levels) noexcept : levels_(levels) {}

  // After each opening of the driver: its cards, and those the process may use.
  void set_cards(std::vector<GpuCard> cards) { cards_ = std::move(cards); }
  void set_visible(VisibleDevices visible) { visible_ = std::move(visible); }
  void set_list(std::optional<std::string> list) { visible_.list = std::move(list); }
  // Then this. Reads what is new once; members are only added.
  void choose(const Nvml& nvml, MissingList& missing);

  [[nodiscard]] std::vector<Member>& members() noexcept { return members_; }
  [[nodiscard]] bool any_visible() const noexcept;
  // All that ever were; a device again when another card has its name.
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<record::Device>& devices() const noexcept { return devices_; }
  // All values become unknown.
  void forget(record::State state);

 private:
  Member* find(const GpuCard& card) noexcept;
  void show(const GpuCard& card, const Nvml& nvml, MissingList& missing);
  void describe(const GpuDevice& device, MissingList& missing);
  [[nodiscard]] bool is_order_uncertain() const;

  GpuLevels levels_;
  std::vector<GpuCard> cards_;
  VisibleDevices visible_;
  bool by_number_ = false;
  std::vector<Member> members_;  // in the order of the columns
  std::vector<record::Column> columns_;
  std::vector<record::Device> devices_;
};

}  // namespace probe
