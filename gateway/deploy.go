package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/batch"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor"
	"portico/gateway/frontdoor/deployments"
	"portico/gateway/frontdoor/route"
	"portico/operations/deploy"
	deployplan "portico/operations/deploy/plan"
	"portico/regions"
)

// deploymentPatience is how long a deployment that only waits for its providers keeps its place
// among those that are worked on.
const deploymentPatience = 5 * time.Second

func (g *Gateway) newDeployer() *deploy.Deployer {
	c := g.config
	return &deploy.Deployer{
		Store: g.store, Sender: g.stepSender, May: g.callerMay, Unregistered: g.unregistered, Target: g.prober.Target, Limit: c.Deployments.Limit, CallLimit: batch.RequestLimit(c), Kept: c.Operations.Records, Patience: deploymentPatience, Memory: g.batchMemory, MemoryLimit: c.Batch.Memory, Log: g.log,
		Limits: deployplan.Limits{PerDeployment: c.Deployments.PerDeployment, PerEndpoint: c.Deployments.PerEndpoint, Budget: c.Deployments.TransientBudget, Pause: c.Index.PollFloor},
	}
}

func (g *Gateway) newDeployments() deployments.Deployments {
	judged := g.newPreflight()
	return deployments.Deployments{
		Orders: g.newOrders(),
		Store:  g.store, Admission: g.admission, Polls: g.polls, Lists: route.Lists{Lister: g.lister, Public: g.config.Server.PublicURL}, History: g.config.Deployments.History, Running: g.config.Deployments.Running, ShareOf: g.config.Limits.ShareOf, Limit: g.config.Deployments.Limit,
		Judge: func(r *http.Request, x *exchange.Exchange, _ string, sent []deployments.Sent, withoutWrite bool) ([]*arm.Error, error) {
			return judged.GatewayFaults(r, x, plannedOf(sent), withoutWrite)
		},
	}
}

func (g *Gateway) newOrders() deployments.Orders {
	return deployments.Orders{
		Caller: func(r *http.Request, x *exchange.Exchange) (json.RawMessage, error) {
			return json.Marshal(batch.NewCaller(r, x))
		},
		Locations: deployments.Locations{Map: g.config.Map, Store: g.store},
		May:       g.authorizer.MayStill, Unregistered: g.unregistered, Environment: frontdoor.TemplateEnvironment(g.config.Metadata, g.public), Now: g.store.Now,
	}
}

// unregistered reports whether a subscription must yet be registered for a namespace.
func (g *Gateway) unregistered(ctx context.Context, subscription, namespace string) (bool, error) {
	p := g.config.Map.Provider(namespace)
	if p == nil || p.Registration != regions.Required {
		return false, nil
	}
	registration, err := g.store.Registration(ctx, subscription, p.Key)
	return err == nil && !registration.State.Permits(), err
}

// callerMay returns why the caller of a deployment may not do what an ID names, by the newest
// configuration.
func (g *Gateway) callerMay(ctx context.Context, caller json.RawMessage, action, id string) error {
	var by batch.Caller
	if err := json.Unmarshal(caller, &by); err != nil {
		return fmt.Errorf("read the caller of a deployment: %w", err)
	}
	return g.newest.Load().authorizer.MayStill(ctx, by.Principal, action, id)
}

// stepSender sends the calls of a deployment on the way of a batch's requests.
func (g *Gateway) stepSender(caller json.RawMessage) (deploy.Sender, error) {
	var by batch.Caller
	if err := json.Unmarshal(caller, &by); err != nil {
		return nil, fmt.Errorf("read the caller of a deployment: %w", err)
	}
	return func(ctx context.Context, c deploy.Call) (deploy.Answer, error) {
		by := by
		by.Principal = by.Principal.Outlasting(time.Now())
		status, header, body, fault := g.batches.Send(ctx, &by, &batch.Request{Method: c.Method, URL: c.Target, Content: c.Content, Origin: originOf(&c), Parent: c.Parent})
		if fault != nil {
			return deploy.Answer{Status: fault.Status, Header: header, Body: fault.Body()}, ctx.Err()
		}
		if status == arm.StatusClientClosed {
			return deploy.Answer{}, ctx.Err()
		}
		return deploy.Answer{Status: status, Header: header, Body: body}, nil
	}, nil
}

func originOf(c *deploy.Call) exchange.Origin {
	switch {
	case c.Parent != nil:
		return exchange.OriginNested
	case c.Method == http.MethodDelete:
		return exchange.OriginRemoval
	}
	return exchange.OriginStep
}
