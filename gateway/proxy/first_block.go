package proxy

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// blockSize is how much of an answer is read at a time.
const blockSize = 32 << 10

type block [blockSize]byte

// blocks are the blocks that no answer uses. What they hold of earlier answers is
// overwritten before it is read: only what was read of an answer is sent.
var blocks = sync.Pool{New: func() any { return new(block) }}

// firstBlock is the beginning of an answer. It is read before the status goes out, so
// that the client gets an error if the provider breaks off early.
type firstBlock struct {
	block    *block // also the buffer for the rest
	n        int
	complete bool
}

// readFirstBlock reads the first block of an answer, or all of a short one.
func readFirstBlock(answer *http.Response) (b firstBlock, err error) {
	b.block = blocks.Get().(*block) // the only type in it
	for b.n < blockSize && err == nil {
		var n int
		n, err = answer.Body.Read(b.block[b.n:])
		b.n += n
	}
	if errors.Is(err, io.EOF) {
		b.complete, err = true, nil
	}
	return b, err
}

// sendTo writes the answer. Its block is for another answer then, unless the writing
// failed: HTTP/2 may go on to read what it was given for a stream that has ended.
func (b firstBlock) sendTo(w io.Writer, rest io.Reader) error {
	if b.n > 0 {
		if _, err := w.Write(b.block[:b.n]); err != nil {
			return err
		}
	}
	if !b.complete {
		if _, err := io.CopyBuffer(struct{ io.Writer }{w}, rest, b.block[:]); err != nil {
			return err
		}
	}
	blocks.Put(b.block)
	return nil
}
