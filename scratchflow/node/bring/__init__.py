"""What comes into a new workspace from elsewhere: a directory, a stream from another machine, a git clone."""
