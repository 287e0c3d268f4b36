package gateway

import (
	"errors"
	"io"
	"net/http"
)

// answerBlock is how much of an answer is read at a time.
const answerBlock = 32 << 10

// begun is the beginning of an answer, which is read before its status goes out: a
// provider that breaks off so early has its client told of that, instead of being cut
// off in turn.
type begun struct {
	block []byte // also what the rest is read by
	n     int
	whole bool
}

// beginning reads the first block of an answer, or all of it.
func beginning(answer *http.Response) (b begun, err error) {
	size := int64(answerBlock)
	if answer.ContentLength >= 0 {
		size = min(size, answer.ContentLength+1) // one more: to meet the end
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
func (b begun) send(w io.Writer, rest io.Reader) error {
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
