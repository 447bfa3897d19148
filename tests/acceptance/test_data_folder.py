"""The data folder is its owner's alone, also one that was made open to others, with all that is in it."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from feedmill.model.errors import Denied
from feedmill.runtime.datafolder import prepare_folder
from tests import programs
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_record
from tests.migratedstore import prepare_migrated

NOBODY = 65534
FEED = make_feed(
    make_record("http://folder.example.com/1", "closed folders"),
    make_record("http://folder.example.com/2", "large words " * 120_000, mimetype="text/plain"),
    datasource="test",
    feedtype="incremental",
)


def open_place() -> TemporaryDirectory[str]:
    """Makes a folder at a place that others may enter, unlike the folder of a test and, on some machines, that of TMPDIR."""
    return TemporaryDirectory(dir="/tmp")


def list_open(folder: Path) -> dict[str, str]:
    """Lists what others may read, write or enter, with its mode."""
    paths = [folder, *folder.rglob("*")]
    modes = {str(path): path.lstat().st_mode for path in paths if not path.is_symlink()}
    return {path: oct(stat.S_IMODE(mode)) for path, mode in modes.items() if mode & 0o077}


def test_folder_that_was_open_is_closed_with_all_that_is_in_it(tmp_path: Path) -> None:
    appliance = Appliance(tmp_path / "data")
    use(appliance)
    for path in [appliance.data, *appliance.data.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    outside = tmp_path / "outside"
    outside.write_text("not ours to close")
    outside.chmod(0o644)
    (appliance.data / "link").symlink_to(outside)

    use(appliance)

    assert "data_folder_closed" in appliance.log.read_text()
    assert outside.stat().st_mode & 0o777 == 0o644


def use(appliance: Appliance) -> None:
    """Has every kind of file written, and looks at the modes while the server runs."""
    before = os.umask(0o022)
    try:
        appliance.start()
    finally:
        os.umask(before)
    try:
        appliance.feed(FEED)
        assert appliance.urls("closed folders")
        appliance.request("GET", appliance.search_port, "/click?url=http%3A%2F%2Ffolder.example.com%2F1&q=closed&r=1&ct=c&site=a&s=1")
        assert list_open(appliance.data) == {}
    finally:
        appliance.stop()
    assert list_open(appliance.data) == {}


def test_command_writes_for_its_owner_alone(tmp_path: Path) -> None:
    data, feed, made = tmp_path / "data", tmp_path / "feed.xml", tmp_path / "made.xml"
    feed.write_bytes(FEED)
    before = os.umask(0o022)
    try:
        pushed = programs.run("push", feed, "--data", data, "--datasource", "test", "--feedtype", "incremental", "--wait")
        written = programs.run("make-feed", tmp_path, "--include", "*.xml", "--datasource", "test", "--output", made)
    finally:
        os.umask(before)
    assert (pushed.returncode, written.returncode) == (0, 0), pushed.stderr + written.stderr
    assert list_open(data) == {}
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a folder of another user")
def test_open_folder_of_another_user_is_refused() -> None:
    with open_place() as folder:
        data = Path(folder)
        data.chmod(0o755)
        check_refused(data)


def check_refused(data: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from feedmill.runtime.datafolder import prepare_folder; from feedmill.model.errors import Denied\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: prepare_folder(Path(sys.argv[1])); print('taken')\n"
        "except Denied as exc: print(exc)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(data)], capture_output=True, text=True, check=True)
    assert "is open to others (mode 0755) and belongs to another user" in done.stdout
    assert data.stat().st_mode & 0o777 == 0o755


def test_closed_folder_stays_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    prepare_folder(data)
    (data / "file").write_text("")
    (data / "file").chmod(0o644)
    prepare_folder(data)
    assert (data / "file").stat().st_mode & 0o777 == 0o644


def test_first_start_leaves_files_of_others_as_they_are(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    (data / "settings.toml").touch()
    (data / "settings.toml").chmod(0o644)
    prepare_folder(data)
    assert (stat.S_IMODE(data.stat().st_mode), stat.S_IMODE((data / "settings.toml").stat().st_mode)) == (0o700, 0o644)


def test_folder_of_the_system_is_refused_and_stays_open(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for folder in (shared, Path("/")):
        before = folder.stat().st_mode
        with pytest.raises(Denied, match="is a folder of the system"):
            prepare_folder(folder)
        assert folder.stat().st_mode == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a folder of another user")
def test_command_in_a_folder_of_another_user_says_whose_it_is() -> None:
    with open_place() as folder:
        done = run_as_nobody("feeds", "--data", folder)
    assert done.returncode == 1
    assert f"the folder '{folder}' belongs to root:root, mode 0700; run the command as root" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a folder of another user")
def test_commands_of_root_leave_files_that_the_owner_of_the_data_can_open(tmp_path: Path) -> None:
    data, outside = tmp_path / "data", tmp_path / "outside"
    give_away(data)
    outside.write_text("root's")
    os.link(outside, data / "second-name")
    feed = tmp_path / "feed.xml"
    feed.write_bytes(FEED)
    for words in (["users"], ["push", feed, "--datasource", "test", "--feedtype", "incremental"], ["search", "closed", "--user", "ann"]):
        run_as_root(*words, "--data", data)
    assert len(list(data.rglob("*"))) > 10
    assert {path.name for path in data.rglob("*") if path.lstat().st_uid != NOBODY} == {"second-name"}
    run_as_root("backup", tmp_path / "all.tar", "--data", data)
    restored = tmp_path / "restored"
    restored.mkdir(mode=0o700)
    os.chown(restored, NOBODY, NOBODY)
    run_as_root("restore", tmp_path / "all.tar", "--data", restored)
    assert {path.lstat().st_uid for path in restored.rglob("*")} == {NOBODY}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a folder of another user")
def test_root_does_not_serve_the_data_of_another_user(tmp_path: Path) -> None:
    data = tmp_path / "data"
    give_away(data)
    before = sorted(data.iterdir())
    done = run_as_root("serve", "--data", data, is_done=False)
    assert f"the data in '{data}' belong to user nobody, who could not open files of root's; start the server as that user" in done.stderr
    assert sorted(data.iterdir()) == before


def give_away(data: Path) -> None:
    """Makes a data folder of the user nobody."""
    prepare_migrated(data)
    for path in (data, *data.iterdir()):
        os.chown(path, NOBODY, NOBODY)


def run_as_root(*words: str | Path, is_done: bool = True) -> subprocess.CompletedProcess[str]:
    done = programs.run(*words)
    assert done.returncode == (0 if is_done else 1), done.stderr
    return done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs a command as another user")
def test_folder_that_cannot_be_read_makes_no_feed() -> None:
    with open_place() as folder, open_place() as output:
        os.chmod(output, 0o777)
        done = run_as_nobody("make-feed", folder, "--datasource", "x", "--output", f"{output}/x.xml")
        assert os.listdir(output) == []
    assert (done.returncode, done.stdout) == (1, "")
    assert f"'{folder}' cannot be read: Permission denied" in done.stderr


def run_as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a user without rights."""
    return programs.run(*words, user=NOBODY)
