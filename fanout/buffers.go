package fanout

import "sync"

// buffers keeps the memory of written merged pages for later ones: otherwise Go clears a
// page of megabytes before it is filled, and collects it afterwards. The garbage
// collector frees unused buffers. They are not charged to any list: they are as large as
// the pages of the last lists, which a budget bounds.
type buffers struct {
	texts    [largestText/textStep + 1]sync.Pool // of *[]byte, by capacity
	elements sync.Pool                           // of *[]Element
	ids      sync.Pool                           // of *idSet
}

// Texts are kept by capacity, which exceeds their length by less than a step.
// Short ones are not worth keeping, and ones beyond the largest are rare.
const (
	textStep    = 32 << 10
	largestText = 8 << 20
)

// text returns n bytes with arbitrary content.
func (b *buffers) text(n int64) []byte {
	if n < textStep/2 || n > largestText {
		return make([]byte, n)
	}
	class := (n + textStep - 1) / textStep
	if kept, ok := b.texts[class].Get().(*[]byte); ok {
		return (*kept)[:n]
	}
	return make([]byte, n, class*textStep)
}

// keepText keeps memory that text returned, for reuse. It must not be read any more.
func (b *buffers) keepText(text []byte) {
	if n := cap(text); n >= textStep && n <= largestText && n%textStep == 0 {
		b.texts[n/textStep].Put(&text)
	}
}

// elementsOf returns an empty slice with room for the elements of a page.
func (b *buffers) elementsOf(text []byte) []Element {
	if kept, ok := b.elements.Get().(*[]Element); ok {
		return (*kept)[:0]
	}
	return make([]Element, 0, len(text)/typicalElement)
}

func (b *buffers) keepElements(elements []Element) {
	if cap(elements) > 0 {
		b.elements.Put(&elements)
	}
}

// idSet returns an empty set for the elements of pages.
func (b *buffers) idSet(pages []Page) *idSet {
	kept, ok := b.ids.Get().(*idSet)
	if !ok {
		kept = newIDSet()
	}
	kept.reset(pages)
	return kept
}

func (b *buffers) keepIDs(k *idSet) {
	k.pages = nil
	b.ids.Put(k)
}
