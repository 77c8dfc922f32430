"""The command line: parse, call one flow, hand its events to a reporter."""
