"""`dml sync`: which studies are brought up to date in MLflow."""


def synced(programs):
    return [command[-1] for command in programs if command[:3] == ("-m", "dml.pipeline", "sync")]


def test_all_with_results_or_a_sweep_that_has_begun(dml, project, programs):
    names = sorted(path.stem for path in (project / "pipelines/studies").glob("*.yaml"))
    for folder in (f"results/{names[0]}", "results/gone", "store/sweeps/gone.live"):
        (project / folder).mkdir(parents=True)
        (project / folder / "trials.parquet").touch()
    assert dml("sync").code == 0
    assert synced(programs) == names[:1]
