#include "watch/succession.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "record/log.hpp"

namespace watch {
namespace {

constexpr std::size_t kHeadBytes = 16U << 10;

// The first record, a machine's, has the time in it: no two recordings begin alike.
std::string first_record(int fd) {
  std::string head(kHeadBytes, '\0');
  head.resize(base::read_at(fd, head, 0).value_or(0));
  record::LogReader reader(head);
  const auto chunk = reader.next();
  return chunk && chunk->kind == record::ChunkKind::kMachine ? std::string(chunk->payload)
                                                             : std::string();
}

void forget(base::File& file, const base::FileIdentity& identity) {
  if (base::identity_of(file.fd()) != identity) static_cast<void>(file.release());
  file.close();
}

}  // namespace

RecordingFile::RecordingFile(base::File file, std::string path)
    : file_(std::move(file)),
      path_(std::move(path)),
      identity_(base::identity_of(file_.fd()).value_or(base::FileIdentity{})) {}

bool RecordingFile::is_ours() {
  if (stalled_ || base::identity_of(file_.fd()) == identity_) return file_.valid();
  static_cast<void>(file_.release());
  if (path_.empty()) return false;
  file_ = base::File::try_open(path_.c_str(), O_RDWR | O_NOFOLLOW);
  if (file_.valid() && base::identity_of(file_.fd()) == identity_) return true;
  file_.close();
  return false;
}

int RecordingFile::lend() {
  lent_number_ = is_ours() ? file_.fd() : -1;
  if (!stalled_ && lent_.valid()) forget(lent_, lent_identity_);
  return lent_number_;
}

int RecordingFile::newest() {
  if (!is_ours()) return -1;
  if (!stalled_) adopt_copy();
  return file_.fd();
}

void RecordingFile::adopt_copy() {
  struct stat status{};
  if (path_.empty() || ::fstat(file_.fd(), &status) != 0 || status.st_nlink > 0) return;
  base::File found = base::File::try_open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (!found.valid() || ::fstat(found.fd(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || status.st_nlink != 1) {
    return;
  }
  const std::string first = first_record(file_.fd());
  if (!first.empty() && first == first_record(found.fd())) move_to(std::move(found), path_);
}

void RecordingFile::move_to(base::File file, std::string path) {
  const auto identity = base::identity_of(file.fd());
  if (!identity) return;
  if (file_.valid() && file_.fd() == lent_number_ && !lent_.valid()) {
    lent_ = std::move(file_);
    lent_identity_ = identity_;
  } else if (file_.valid()) {
    forget(file_, identity_);
  }
  file_ = std::move(file);
  identity_ = *identity;
  path_ = std::move(path);
}

void RecordingFile::let_go() {
  if (stalled_) {  // to close it might take as long as the file system does
    static_cast<void>(file_.release());
    static_cast<void>(lent_.release());
    return;
  }
  if (file_.valid()) forget(file_, identity_);
  if (lent_.valid()) forget(lent_, lent_identity_);
}

}  // namespace watch
