#pragma once
// What check_python() runs: `PYTHON -c SCRIPT VERSION`. It may meet any Python from 3.6 on.

namespace tools {

inline constexpr const char* kDoctorScript = R"script(
import importlib, importlib.util, json, os, sys
from importlib.machinery import PathFinder

def say(what, result, reason, remedy=""):
    print(json.dumps({"what": what, "result": result, "reason": reason, "remedy": remedy}))
    sys.stdout.flush()

version = "%d.%d.%d" % sys.version_info[:3]
if sys.version_info < (3, 11):
    say("Python", "limited", "%s in %s: the package needs 3.11 or newer" % (version, sys.prefix))
    sys.exit()
say("Python", "ok", "%s in %s" % (version, sys.prefix))
from importlib import metadata

def our_package():
    """Where the distribution has put it; an editable one says it by its own finder."""
    for file in metadata.files("jumper-hpc") or ():
        if file.parts[-2:] == ("jumper", "__init__.py"):
            return os.path.realpath(str(file.locate()))
    spec = importlib.util.find_spec("jumper")
    return spec and spec.origin and os.path.realpath(spec.origin)

def package():
    try:
        installed = metadata.version("jumper-hpc")
    except metadata.PackageNotFoundError:
        say("package jumper", "limited", "jumper-hpc isn't installed in this Python: its notebooks "
            "aren't measured", "install it there, or name another one with --python")
        return
    ours = our_package()
    try:
        folder = [os.getcwd()]
    except OSError:
        folder = []
    spec = PathFinder.find_spec("jumper", folder + sys.path)  # as a kernel in this folder does
    found = spec and spec.origin and os.path.realpath(spec.origin)
    if found and found != ours:
        say("package jumper", "missing", "%s hides the installed package: notebooks here get that "
            "file instead" % found, "rename it")
        return
    try:
        native = importlib.import_module("jumper._native")
    except BaseException as error:
        say("package jumper", "missing", "cannot be imported: %s: %s"
            % (type(error).__name__, error), "reinstall jumper-hpc")
        return
    if native.__version__ != sys.argv[1]:
        say("package jumper", "limited", "is %s, this program %s" % (native.__version__,
            sys.argv[1]), "use the program of the same environment, or reinstall jumper-hpc")
        return
    say("package jumper", "ok", "%s in %s" % (installed, os.path.dirname(ours or "?")))

def library(name, distribution):
    try:
        importlib.import_module(name)
        say(name, "ok", metadata.version(distribution))
    except BaseException as error:
        say(name, "limited", "cannot be imported: %s: %s" % (type(error).__name__, error),
            "pip install %s" % distribution)

def kernel_folders():
    def split(name):
        return [one for one in os.environ.get(name, "").split(os.pathsep) if one]
    home = os.path.expanduser("~")
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    user = os.environ.get("JUPYTER_DATA_DIR") or os.path.join(data, "jupyter")
    folders = split("JUPYTER_PATH") + [user, os.path.join(sys.prefix, "share", "jupyter")]
    return folders + ["/usr/local/share/jupyter", "/usr/share/jupyter"]

def kernels():
    broken = []
    for folder in kernel_folders():
        kernels = os.path.join(folder, "kernels")
        for name in sorted(os.listdir(kernels)) if os.path.isdir(kernels) else ():
            path = os.path.join(kernels, name)
            try:
                with open(os.path.join(path, "kernel.json"), encoding="utf-8") as file:
                    argv = json.load(file)["argv"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if "--ext=jumper" not in argv:
                continue
            if os.path.isabs(argv[0]) and not os.access(argv[0], os.X_OK):
                broken.append("%s names %s, which isn't there" % (path, argv[0]))
                continue
            say("kernel JUmPER", "ok", path)
            return
    say("kernel JUmPER", "limited", "; ".join(broken) or "is in no folder that this environment's "
        "Jupyter looks at", "`jumper install --user`; or `%load_ext jumper` in any kernel")

def peers():
    names = ("jumper_extension", "jumper_kernel", "jumper_wrapper_kernel", "scorep",
             "scorep_jupyter")
    found = [name for name in names if PathFinder.find_spec(name)]
    if found:
        say("others", "ok", "installed, too: %s" % ", ".join(found))

def attempt(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        say(arguments[0] if arguments else function.__name__, "limited",
            "%s: %s" % (type(error).__name__, error))

attempt(package)
attempt(library, "IPython", "ipython")
attempt(library, "ipykernel", "ipykernel")
attempt(kernels)
attempt(peers)
)script";

}  // namespace tools
