"""The generated classes of the links' frames; imported only where frames are made of bytes."""
