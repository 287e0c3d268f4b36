package peers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

const providerRole = "provider"

// The sizes of the provider's answers in bytes.
const (
	InstanceSize = 1 << 10
	LargeSize    = 1 << 20
	WrittenSize  = 2 << 10
)

// Prefixes of names on which its answers depend.
const (
	LargeName = "large" // a GET has LargeSize
	NewName   = "new"   // a PUT creates it
)

// StartProvider runs the provider behind all proxies. It keeps no state and answers as if
// every resource existed. It has one address per region; a region's list is one page of
// about pageSize bytes.
func StartProvider(t testing.TB, regions, pageSize int) (addresses []string, pid int) {
	t.Helper()
	all, pid := startRole(t, providerRole, strconv.Itoa(regions), strconv.Itoa(pageSize))
	return strings.Fields(all), pid
}

func provide(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("wants the number of regions and the size of a page")
	}
	regions, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	pageSize, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var addresses []string
	ended := make(chan error, regions)
	for region := range regions {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, listener.Addr().String())
		page := fmt.Appendf(nil, `{"value":[%s]}`, Machines(region, pageSize))
		go func() { ended <- serve(listener, page) }()
	}
	fmt.Printf("%s: %s\n", providerRole, strings.Join(addresses, " "))
	return <-ended
}

// serve speaks the part of HTTP/1.1 that proxies use towards a provider. net/http would
// take processor time from the proxies.
func serve(listener net.Listener, page []byte) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			_ = answerAll(conn, page) // a proxy may go at any time
		}()
	}
}

func answerAll(conn net.Conn, page []byte) error {
	r := bufio.NewReaderSize(conn, 16<<10)
	for {
		c, err := readCall(r)
		if err != nil {
			return err
		}
		answer := c.answer(page)
		if _, err := answer.WriteTo(conn); err != nil {
			return err
		}
	}
}

// call is the part of a request that the answer depends on.
type call struct {
	method, path string
	length       int
	unframed     bool // without Content-Length
}

// readCall reads a request to its end.
func readCall(r *bufio.Reader) (call, error) {
	first, err := r.ReadSlice('\n')
	if err != nil {
		return call{}, err
	}
	method, rest, _ := bytes.Cut(first, []byte(" "))
	target, _, _ := bytes.Cut(rest, []byte(" "))
	path, _, _ := bytes.Cut(target, []byte("?"))
	c := call{method: string(method), path: string(path)}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return call{}, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if value, found := header(line, "content-length"); found {
			if c.length, err = strconv.Atoi(value); err != nil {
				return call{}, err
			}
		} else if _, found := header(line, "transfer-encoding"); found {
			c.unframed = true
		}
	}
	if c.unframed {
		return c, nil // its answer is an error, and the connection is of no further use
	}
	_, err = io.CopyN(io.Discard, r, int64(c.length))
	return c, err
}

func header(line []byte, name string) (string, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return "", false
	}
	return string(bytes.TrimSpace(line[len(name)+1:])), true
}

var fill = bytes.Repeat([]byte("x"), LargeSize)

// answer returns the whole answer, in pieces.
func (c call) answer(page []byte) net.Buffers {
	name := c.path[strings.LastIndexByte(c.path, '/')+1:]
	switch {
	case c.unframed:
		return message("411 Length Required", nil, nil, nil)
	case !strings.Contains(c.path, "/virtualMachines"):
		return message("200 OK", []byte("{}"), nil, nil) // a notice of a subscription
	case name == "virtualMachines":
		return message("200 OK", page, nil, nil)
	}
	status, size := "200 OK", InstanceSize
	switch {
	case c.method == "PUT" && strings.HasPrefix(name, NewName):
		status, size = "201 Created", WrittenSize
	case c.method == "PUT":
		size = WrittenSize
	case strings.HasPrefix(name, LargeName):
		size = LargeSize
	}
	const tail = `"}}`
	start := fmt.Appendf(nil, `{"id":%q,"name":%q,"type":"Contoso.Compute/virtualMachines","location":"westus","tags":{"env":"prod","owner":"someone"},"properties":{"provisioningState":"Succeeded","fill":"`,
		c.path, name)
	return message(status, start, fill[:max(0, size-len(start)-len(tail))], []byte(tail))
}

func message(status string, content ...[]byte) net.Buffers {
	length := 0
	for _, piece := range content {
		length += len(piece)
	}
	head := fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-cache\r\nETag: \"1\"\r\nContent-Length: %d\r\n\r\n", status, length)
	return append(net.Buffers{head}, content...)
}
