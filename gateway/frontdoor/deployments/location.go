package deployments

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/jobs/deploy"
	"portico/regions"
)

// Locations checks the locations of deployments to subscriptions. Deployments to groups
// have their group's.
type Locations struct {
	Map   *regions.Map
	Store *inventory.Store
}

// Check refuses a location that is not a region, or differs from the existing
// deployment's.
func (l Locations) Check(ctx context.Context, n deploymentrow.Name, location string) error {
	if n.Group != "" {
		return nil
	}
	if err := l.checkRegion(location); err != nil {
		return err
	}
	found, err := l.Store.Deployments.Deployment(ctx, n)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a deployment: %w", err)
	}
	record, err := deploy.Seen(found)
	if err == nil && record.Location != location {
		err = arm.NewError(arm.InvalidDeploymentLocation, location, n.Name, record.Location).WithTarget("location")
	}
	return err
}

// checkRegion refuses a location that is not a region.
func (l Locations) checkRegion(location string) error {
	if _, known := l.Map.Region(location); known {
		return nil
	}
	var names []string
	for _, region := range l.Map.Regions() {
		names = append(names, region.Name)
	}
	return arm.NewError(arm.LocationNotAvailableForDeployment, location, strings.Join(names, ",")).WithTarget("location")
}
