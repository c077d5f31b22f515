"""Reports of studies as files to send."""
