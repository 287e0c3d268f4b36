package upstream

import (
	"context"
	"errors"
)

// maxSendAnswer bounds the answer to a write of Portico's own, of which the status and
// an error count.
const maxSendAnswer = 1 << 20

// Send makes a call like [Client.Do] and reads its answer whole, decompressed. Without
// an answer the Status is 0, and the error is that of Do. With one, an error says that
// the body broke off, or [ErrTooLarge] that it exceeds 1 MiB; there is no Body then.
func (c *Client) Send(ctx context.Context, call Call) (Answer, error) {
	response, err := c.Do(ctx, call)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := ReadAll(response.Header, response.Body, maxSendAnswer)
	return Answer{response.StatusCode, response.Header, body}, err
}

// Unsent reports whether err says that no byte of a call has left.
func Unsent(err error) bool {
	fault, ok := errors.AsType[*Fault](err)
	return ok && !fault.Sent
}
