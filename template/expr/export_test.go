package expr

// Left returns what may still be spent.
func (b *Budget) Left() (steps, bytes int) { return b.steps.left, b.bytes.left }
