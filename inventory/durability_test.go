package inventory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/storetest"
	"portico/test/harness"
)

// childVariable names the database that a child of this test binary writes to.
const childVariable = "INVENTORY_TEST_CHILD"

// childMain writes until it is killed, and names on standard output what was
// acknowledged.
func childMain() {
	path := os.Getenv(childVariable)
	if path == "" {
		return
	}
	if err := writeForever(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

func childOptions(path string) inventory.Options {
	o := storetest.Options(storetest.NewClock())
	o.DSN, o.Now = path, time.Now
	return o
}

func childWrite(name string) inventory.Write {
	id := "/subscriptions/s/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/" + name
	return inventory.Write{Subscription: "s", Group: "rg", Key: id, ID: id, Type: "contoso.compute/virtualmachines",
		Region: "region-of-" + name, APIVersion: "2024-01-01"}
}

func writeForever(path string) error {
	// The parent kills it long before; nothing may run on without one.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := inventory.Open(ctx, childOptions(path))
	if err != nil {
		return err
	}
	if err := store.SeedSubscriptions(ctx, []inventory.Subscription{{ID: "s", TenantID: "t"}}); err != nil {
		return err
	}
	_, _, err = store.EditGroup(ctx, "s", "rg", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Location: "westus"}, nil
	})
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	var out sync.Mutex
	for worker := range 8 {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("vm-%d-%d", worker, i)
				ticket, err := store.Begin(ctx, childWrite(name))
				if err == nil {
					_, err = store.Settle(ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded})
				}
				if err != nil {
					return
				}
				out.Lock()
				fmt.Println(name)
				out.Unlock()
			}
		})
	}
	wait.Wait()
	return errors.New("nobody killed it")
}

func TestAcknowledgedWritesSurviveSIGKILL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "killed.db")
	acknowledged := 0
	for round := range 3 {
		names := killAfter(t, path, 60*(round+1))
		store, err := inventory.Open(t.Context(), childOptions(path))
		harness.OK(t, err)
		for _, name := range names {
			row, err := store.Resource(t.Context(), "s", childWrite(name).Key)
			if err != nil || row.Region != "region-of-"+name || row.Phase != index.Live {
				t.Errorf("%s was acknowledged: %+v, %v", name, row, err)
			}
		}
		harness.OK(t, store.Close())
		acknowledged += len(names)
	}
	if acknowledged < 360 {
		t.Fatalf("only %d writes were acknowledged", acknowledged)
	}
}

// killAfter runs a child, kills it after so many acknowledged writes, and
// returns all that it had acknowledged.
func killAfter(t *testing.T, path string, writes int) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+path)
	var complaints strings.Builder
	child.Stderr = &complaints
	pipe, err := child.StdoutPipe()
	harness.OK(t, err)
	harness.OK(t, child.Start())
	var names []string
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a last line without its end is not an acknowledgement
		}
		names = append(names, strings.TrimSpace(line))
		if len(names) == writes {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if len(names) < writes {
		t.Fatalf("the child ended by itself after %d writes: %s", len(names), complaints.String())
	}
	return names
}
