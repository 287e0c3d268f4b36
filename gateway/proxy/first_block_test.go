package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// poison fills the blocks that are free with bytes that no answer has.
func poison() {
	var all []*block
	for range 8 {
		b := blocks.Get().(*block)
		for i := range b {
			b[i] = '!'
		}
		all = append(all, b)
	}
	for _, b := range all {
		blocks.Put(b)
	}
}

// An answer has what its provider sent, whatever the memory held that it came
// through.
func TestBlocksHoldNothingOfOtherAnswers(t *testing.T) {
	for _, size := range []int{0, 1, 100, blockSize - 1, blockSize, blockSize + 1, 3*blockSize + 5} {
		for name, slowly := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "by halves": iotest.HalfReader, "with its end": iotest.DataErrReader,
		} {
			for _, declared := range []int64{int64(size), -1} {
				poison()
				sent := strings.Repeat("x", size)
				answer := &http.Response{ContentLength: declared, Body: io.NopCloser(slowly(strings.NewReader(sent)))}
				block, err := readFirstBlock(answer)
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := block.sendTo(&got, answer.Body); err != nil || got.String() != sent {
					t.Errorf("%d bytes %s, %d declared: %d bytes arrive, %v", size, name, declared, got.Len(), err)
				}
			}
		}
	}
}

// retaining is a client that is gone, and goes on to hold what it was given last.
type retaining struct{ held []byte }

func (w *retaining) Write(p []byte) (int, error) {
	w.held = p
	return 0, errors.New("gone")
}

// What a failed write may still hold is not used for other answers.
func TestBlockOfAFailedWriteIsGivenUp(t *testing.T) {
	send := func(text string, to io.Writer) error {
		answer := &http.Response{ContentLength: -1, Body: io.NopCloser(strings.NewReader(text))}
		block, err := readFirstBlock(answer)
		if err != nil {
			t.Fatal(err)
		}
		return block.sendTo(to, answer.Body)
	}
	for range 50 {
		gone := &retaining{}
		if send("mine", gone) == nil {
			t.Fatal("no error")
		}
		before := slices.Clone(gone.held)
		for range 4 {
			if err := send(strings.Repeat("another's", 10), io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(before, gone.held) {
			t.Fatalf("the client that is gone holds %q", gone.held)
		}
	}
}
