package expr

// Left returns what may still be spent.
func (b *Budget) Left() (steps, bytes int) { return b.steps.remaining, b.bytes.remaining }
