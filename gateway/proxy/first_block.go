package proxy

import (
	"errors"
	"io"
	"net/http"
)

// blockSize is how much of an answer is read at a time.
const blockSize = 32 << 10

// firstBlock is the beginning of an answer. It is read before the status goes out, so
// that the client gets an error if the provider breaks off early.
type firstBlock struct {
	block []byte // also the buffer for the rest
	n     int
	whole bool
}

// readFirstBlock reads the first block of an answer, or all of a short one.
func readFirstBlock(answer *http.Response) (b firstBlock, err error) {
	size := int64(blockSize)
	if answer.ContentLength >= 0 {
		size = min(size, answer.ContentLength+1) // one more, to see the end
	}
	b.block = make([]byte, size)
	for b.n < len(b.block) && err == nil {
		var n int
		n, err = answer.Body.Read(b.block[b.n:])
		b.n += n
	}
	if errors.Is(err, io.EOF) {
		b.whole, err = true, nil
	}
	return b, err
}

// send writes the answer.
func (b firstBlock) sendTo(w io.Writer, rest io.Reader) error {
	if b.n > 0 {
		if _, err := w.Write(b.block[:b.n]); err != nil {
			return err
		}
	}
	if b.whole {
		return nil
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, rest, b.block)
	return err
}
