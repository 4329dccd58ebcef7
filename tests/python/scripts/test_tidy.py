from pathlib import Path


def test_a_file_is_looked_at_again_when_a_far_header_changes(script, tree):
    tidy = script("tidy")
    root = tree(
        {
            "src/base/a.hpp": "",
            "src/store/b.hpp": '#include "base/a.hpp"\n#include "store/b.hpp"\n',
            "src/store/c.cpp": '#include <vector>\n#include "store/b.hpp"\n#include "gone.hpp"\n',
            "src/store/d.hpp": "",
        }
    )
    src = root / "src"
    read = tidy.reads(src / "store/c.cpp", src)
    assert {path.name for path in read} == {"a.hpp", "b.hpp", "c.cpp"}

    before = tidy.key(read, "command")
    assert tidy.key(read, "other command") != before
    Path(src / "store/d.hpp").write_text("changed")
    assert tidy.key(read, "command") == before
    Path(src / "base/a.hpp").write_text("changed")
    assert tidy.key(read, "command") != before
