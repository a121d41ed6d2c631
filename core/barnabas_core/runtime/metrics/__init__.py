"""What a process tells of itself: plain numbers counted where things happen, read when asked."""
