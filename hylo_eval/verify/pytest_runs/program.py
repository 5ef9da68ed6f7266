"""The program that runs pytest in the interpreter of a task.

Its text is given to that interpreter with ``-c``: it must run on every Python that pytest 6 runs on, and it
must import nothing before pytest does but modules that are built into the interpreter. A candidate's module
that is named after one of the standard library is thereby imported, and blamed, as it was submitted.

Compiled files are looked up in the folder that ``PYTHONPYCACHEPREFIX`` names, which is the grader's own and
empty, so that none is believed that lies beside the task's files. The standard library and the installed
packages alone keep theirs: to compile all of pytest and its plugins anew takes a second and more.

The report goes to a pipe whose number is told on standard input together with a word that opens every line.
No argument, environment variable, file or module names either. Code that runs in this interpreter can still
find them by walking frames and descriptors: within one process nothing can be hidden from it.
"""

# The interpreter that runs this may be older than ours, and imports no typing or contextlib before pytest.
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, UP031, SIM105, FBT003, SLF001, C901
# ruff: noqa: B010, PTH100, PTH117, PTH118, PTH119, PTH120
# pyright: basic, reportPrivateUsage=false

import os
import posix
import sys

LONGEST_TEXT = 1 << 16
PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def installed_folders():
    """The folders of the standard library and of installed packages, apart from the workspace.

    They are asked for before any code of the task has run. One that lies in the workspace, or around it, is
    left out: the candidate may have written there.
    """
    library = os.path.dirname(os.__file__)
    packages = [entry for entry in sys.path if os.path.basename(entry) in PACKAGE_FOLDERS]
    workspace = os.path.join(os.path.realpath(os.curdir), "")
    folders = []
    for entry in [library, *packages]:
        real = os.path.join(os.path.realpath(entry), "")
        if os.path.isabs(entry) and not real.startswith(workspace) and not workspace.startswith(real):
            folders.append(os.path.join(entry, ""))
    return tuple(folders)


def keep_installed_bytecode(folders):
    """Lets the import system find, and leave, the compiled files of installed modules beside their sources.

    Where the interpreter does not work as expected nothing is changed: every module is compiled anew.
    """
    machinery = sys.modules.get("_frozen_importlib_external")
    private = getattr(machinery, "cache_from_source", None)
    tag = getattr(sys.implementation, "cache_tag", None)
    if private is None or tag is None or not getattr(sys, "pycache_prefix", None):
        return
    ending = "." + tag + (".opt-%d" % sys.flags.optimize if sys.flags.optimize else "") + ".pyc"

    def cache_from_source(path, *arguments, **options):
        if arguments or options or not path.startswith(folders):
            return private(path, *arguments, **options)
        folder, name = os.path.split(path)
        return os.path.join(folder, "__pycache__", name.rpartition(".")[0] + ending)

    setattr(machinery, "cache_from_source", cache_from_source)


def keep_installed_rewrites(folders):
    """The same for the plugins whose assertions pytest rewrites; it has its own cache of compiled files."""
    rewriting = sys.modules.get("_pytest.assertion.rewrite")
    private = getattr(rewriting, "get_cache_dir", None)
    if private is None:
        return

    def get_cache_dir(file_path):
        if str(file_path).startswith(folders):
            return file_path.parent / "__pycache__"
        return private(file_path)

    setattr(rewriting, "get_cache_dir", get_cache_dir)


def encode(value):
    """The JSON text of a string, a number, None, or a list or dictionary of them, in ASCII."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ",".join([encode(str(key)) + ":" + encode(value[key]) for key in value]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([encode(entry) for entry in value]) + "]"
    if isinstance(value, int):
        return str(int(value))
    characters = []
    for character in str(value)[:LONGEST_TEXT]:
        code = ord(character)
        if 32 <= code < 127 and character not in '"\\':
            characters.append(character)
        elif code < 0x10000:
            characters.append("\\u%04x" % code)
        else:
            code -= 0x10000
            characters.append("\\u%04x\\u%04x" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF)))
    return '"' + "".join(characters) + '"'


def origin_of(error, workspace):
    """The file whose code failed: that of the innermost frame, or the one of the workspace that called into it.

    A library that raises because of what it was given, or because it was asked to (``pytest.exit``), was called by
    somebody. One that fails while it is imported is itself the reason.
    """
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append((code.co_filename, code.co_name))
        trace = trace.tb_next
    for filename, name in reversed(frames):
        if filename.startswith("<"):
            continue
        if os.path.abspath(filename).startswith(workspace) or os.path.realpath(filename).startswith(workspace):
            return filename
        if name == "<module>":
            break
    return frames[-1][0] if frames else ""


def failure_of(error, node_id, workspace):
    """What an exception tells about its origin."""
    kind = "error"
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        filename = error.filename
    else:
        if isinstance(error, ModuleNotFoundError):
            kind = "dependency"
        elif isinstance(error, ImportError):
            kind = "import"
        elif isinstance(error, (KeyboardInterrupt, SystemExit)):
            kind = "interrupt"
        filename = origin_of(error, workspace)
        if isinstance(error, ImportError) and error.path:
            filename = error.path
    missing = (error.name or "") if isinstance(error, ImportError) else ""
    module = ""
    owner = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and isinstance(owner, type(sys)):
        # An attribute that a module lacks is blamed on the module, not on the line that asked for it. The
        # dictionary is read directly because the module may define __getattr__.
        module = object.__getattribute__(owner, "__dict__").get("__file__") or ""
    return {
        "type": "failure",
        "kind": kind,
        "filename": filename,
        "node_id": node_id,
        "module_file": module,
        "missing_module": missing,
    }


def keep_out_conftests(manager, folders):
    """Has pytest load nothing in place of a ``conftest.py`` of these folders, whose links are resolved.

    A pytest that imports such files in another way than all known ones is no pytest to grade with: this raises.
    """
    private = manager._importconftest

    def import_conftest(path, *arguments, **options):
        if os.path.realpath(os.path.dirname(str(path))) in folders:
            return type(sys)("conftest")
        return private(path, *arguments, **options)

    manager._importconftest = import_conftest


def observer(record, send, guarded):
    """A pytest plugin that tells the origin of failures when they happen, and the report at the end.

    In the guarded folders no ``conftest.py`` is loaded.
    """
    import pytest
    from _pytest.config import ConftestImportFailure, UsageError
    from _pytest.main import Interrupted
    from _pytest.nodes import Collector

    class Observer:
        def pytest_keyboard_interrupt(self, excinfo):
            if not isinstance(excinfo.value, Interrupted):
                record(excinfo.value)

        def pytest_exception_interact(self, call, report):
            if call.when != "collect":
                return
            error = call.excinfo.value
            if isinstance(error, Collector.CollectError):
                error = error.__cause__ or error.__context__ or error
            record(error, report.nodeid)

        @pytest.hookimpl(hookwrapper=True, trylast=True)
        def pytest_cmdline_parse(self, pluginmanager):
            if guarded:
                keep_out_conftests(pluginmanager, guarded)
            outcome = yield
            if outcome.excinfo:
                error = outcome.excinfo[1]
                if isinstance(error, (ConftestImportFailure, UsageError)):
                    error = error.__cause__ or error.__context__ or error
                record(error)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_sessionfinish(self, session):
            yield
            report = getattr(getattr(session.config, "_json_report", None), "report", None)
            if report is not None:
                send_report(report, send)

    return Observer()


def send_report(report, send):
    """Sends a report of pytest-json-report without the texts and times that no verdict needs."""
    for collector in report.get("collectors", []):
        if collector.get("outcome") == "failed":
            send({"type": "failed_collector", "node_id": collector["nodeid"]})
    for test in report.get("tests", []):
        send({"type": "test", "node_id": test["nodeid"], "outcome": test.get("outcome")})
    send({"type": "report", "root": report.get("root"), "summary": dict(report.get("summary", {}))})


def instructions():
    """What the grader says on standard input: the channel's number, the secret word, the guarded folders."""
    content = b""
    while True:
        part = posix.read(0, LONGEST_TEXT)
        if not part:
            break
        content += part
    opening, *folders = content.split(b"\0")
    number, _, word = opening.decode("ascii").partition(" ")
    return number, word, frozenset(os.fsdecode(folder) for folder in folders)


def main():
    """Runs pytest with this process's arguments and reports to the pipe named on standard input."""
    number, word, guarded = instructions()
    descriptor = int(number)
    posix.set_inheritable(descriptor, False)

    def send(message):
        line = (word + " " + encode(message) + "\n").encode("ascii")
        while line:
            line = line[posix.write(descriptor, line) :]

    workspace = os.path.join(os.path.realpath(os.curdir), "")

    def record(error, node_id=None):
        send(failure_of(error, node_id, workspace))

    try:
        folders = installed_folders()
        keep_installed_bytecode(folders)
        import pytest

        keep_installed_rewrites(folders)
        code = int(pytest.main(sys.argv[1:], plugins=[observer(record, send, guarded)]))
    except BaseException as error:
        record(error)
        raise
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    # Exit handlers and threads of the candidate have no say in how this process ends.
    posix._exit(code)


if __name__ == "__main__":
    main()
