"""Plain frozen data: profile, events, errors, results. No IO, no clock, no environment."""
