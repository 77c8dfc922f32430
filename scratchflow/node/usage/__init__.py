"""What is in use on this node: by the job where its cgroup tells, else by everything that runs here."""
