"""Processes that no person types: the two of a tunnel, and what runs beside unison on a login host."""


def run_end(word: str) -> int:
    """Runs the one that is meant, until its connection ends."""
    if word == "tunnel-end":
        from scratchflow.reach.tunnel.far_end import main as far_end

        return far_end()
    if word == "sync-end":
        from scratchflow.reach.sync.far_end import main as beside_unison

        return beside_unison()
    from scratchflow.flows.serve.keeper import main as keeper

    return keeper()
