#include "bind/words.hpp"

namespace nb = nanobind;

namespace bind {
namespace {

std::string bytes_of(const nb::object& bytes) {
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

}  // namespace

nb::object text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

std::string path_bytes(nb::handle path) {
  const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(path.ptr()));
  if (!bytes.is_valid()) throw nb::python_error();
  return bytes_of(bytes);
}

nb::object path_object(const std::string& path) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

std::string argument_bytes(nb::handle argument) {
  PyObject* converted = nullptr;
  if (PyUnicode_FSConverter(argument.ptr(), static_cast<void*>(&converted)) == 0) {
    throw nb::python_error();
  }
  return bytes_of(nb::steal(converted));
}

}  // namespace bind
