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

// blocks holds unused blocks. They may contain parts of earlier answers: send only what
// was read into them.
var blocks = sync.Pool{New: func() any { return new(block) }}

// firstBlock is the beginning of an answer. It is read before the status is sent, so that
// the client gets an error if the provider breaks off early.
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

// sendTo writes the answer. It frees the block unless writing failed: HTTP/2 may still
// read what it was given for a stream that has ended.
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
