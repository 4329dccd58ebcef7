#include "bind/bodiless.hpp"

#include <string_view>

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

// Empty for what is no text, or no Unicode that UTF-8 has.
std::string_view text_of(PyObject* line) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_Check(line) != 0 ? PyUnicode_AsUTF8AndSize(line, &size) : nullptr;
  if (bytes == nullptr) PyErr_Clear();
  return bytes == nullptr ? std::string_view("x")
                          : std::string_view(bytes, static_cast<std::size_t>(size));
}

nb::object text_from(std::string_view text) {
  return nb::steal(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// "name" of "%%name …"; empty for other lines.
std::string_view magic_of(std::string_view line) {
  if (!line.starts_with("%%")) return {};
  return line.substr(2, line.find_first_of(kBlanks, 2) - 2);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

PyObject* transform(PyObject* names, PyObject* lines) {
  if (PyList_Check(lines) == 0 || PyList_GET_SIZE(lines) == 0) return Py_NewRef(lines);
  const std::string_view first = text_of(PyList_GET_ITEM(lines, 0));
  const std::string_view magic = magic_of(first);
  if (magic.empty()) return Py_NewRef(lines);
  const nb::object name = text_from(magic);
  const int ours = name.is_valid() ? PySequence_Contains(names, name.ptr()) : -1;
  if (ours < 0) return nullptr;
  for (Py_ssize_t at = 1; at < PyList_GET_SIZE(lines); ++at) {
    if (!is_blank(text_of(PyList_GET_ITEM(lines, at)))) return Py_NewRef(lines);
  }
  if (ours == 0) return Py_NewRef(lines);
  const nb::object line = text_from(first.substr(1));
  const nb::object made = nb::steal(PyList_New(1));
  if (!line.is_valid() || !made.is_valid()) return nullptr;
  PyList_SET_ITEM(made.ptr(), 0, Py_NewRef(line.ptr()));
  return Py_NewRef(made.ptr());
}

PyMethodDef transform_definition = {"without_body", transform, METH_O, nullptr};

nb::object bodiless(const nb::tuple& names) {
  return nb::steal(PyCFunction_New(&transform_definition, names.ptr()));
}

}  // namespace

void add_bodiless(nb::module_& module) { module.def("bodiless", &bodiless, "names"_a); }

}  // namespace bind
