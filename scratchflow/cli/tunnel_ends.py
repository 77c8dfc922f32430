"""The two processes of a tunnel, which no person types: on the node, and on the machine with the local port."""


def run_end(word: str) -> int:
    """Runs the one that is meant, until the tunnel ends."""
    if word == "tunnel-end":
        from scratchflow.reach.tunnel.far_end import main as far_end

        return far_end()
    from scratchflow.flows.serve.keeper import main as keeper

    return keeper()
