package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/upstream"
)

func TestCanceledCall(t *testing.T) {
	if err := providerFault(context.Canceled, &exchange.Exchange{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestBuffer(t *testing.T) {
	f := newFixture(t)
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	answer := &http.Response{Header: http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {"26"}, "X-Mine": {"a"}}, Body: io.NopCloser(&zipped)}
	text, err := f.bufferBody(answer, "N", "westus")
	if err != nil || string(text) != "{}" || len(answer.Header) != 1 || answer.ContentLength != 2 {
		t.Errorf("%q %v %+v", text, err, answer)
	}
	if again, err := io.ReadAll(answer.Body); err != nil || string(again) != "{}" {
		t.Errorf("put back: %q %v", again, err)
	}
}

func TestBufferOfAnUnknownEncoding(t *testing.T) {
	f := newFixture(t)
	answer := &http.Response{Header: http.Header{"Content-Encoding": {"br"}}, Body: readCloser{bytes.NewReader(nil), http.NoBody}}
	_, err := f.bufferBody(answer, "N", "westus")
	var fault *arm.Error
	if !errors.As(err, &fault) || fault.Status != 502 {
		t.Errorf("%v", err)
	}
	var cause *upstream.Fault
	if !errors.As(err, &cause) || !cause.Sent {
		t.Errorf("%v", err)
	}
}
