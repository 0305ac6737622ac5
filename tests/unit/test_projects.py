"""What workflow tests rest on: a finished study is itself again before each of them."""

import os

from projects import Finished


def test_a_restored_project_is_as_it_was_whatever_was_done_to_it(tmp_path):
    saved = tmp_path / "saved/results/tiny"
    saved.mkdir(parents=True)
    for name in ("left", "turned", "touched", "gone"):
        (saved / name).write_text(name)
        os.utime(saved / name, (1, 1))
    project = Finished(tmp_path / "copy", tmp_path / "saved")
    project.restore()
    results = project.folder / "results/tiny"
    number = (results / "left").stat().st_ino

    (results / "turned").write_text("t0rned")  # of the same length, and its time is put back
    os.utime(results / "turned", (1, 1))
    (results / "touched").touch()
    (results / "gone").unlink()
    (results / "new/deeper").mkdir(parents=True)
    (results / "new/deeper/file").write_text("new")
    project.restore()

    result = {path.name: path.read_text() for path in results.iterdir()}
    assert result == {path.name: path.read_text() for path in saved.iterdir()}
    assert all(path.stat().st_mtime == 1 for path in results.iterdir())
    assert (results / "left").stat().st_ino == number, "what nobody touched is copied again"
    project.forget()
    project.restore()
    assert len(list(results.iterdir())) == 4
