package gateway_test

import (
	"encoding/json"
	"time"

	"portico/jobs/deletion/deletionplan"
	"portico/jobs/move/moveplan"
)

// Answers of the front door's, as clients read them.
type (
	operationHead struct {
		ID, Name, Status string
		StartTime        time.Time
		EndTime          *time.Time
		PercentComplete  float64
		Error            json.RawMessage
	}
	operationStatus struct {
		operationHead
		deletionplan.Summary
		Waits   []deletionplan.Wait
		Message string
	}
	moveStatus struct {
		operationHead
		moveplan.Summary
	}
	lockBody struct {
		ID, Name, Type, ETag string
		Properties           struct{ Level, Notes string }
	}
	tagsBody struct {
		ID, Name, Type, ETag string
		Properties           struct{ Tags map[string]string }
	}
	tagCount struct {
		Type  string
		Value int
	}
	tagNameBody struct {
		ID, TagName, ETag string
		Count             tagCount
		Values            []struct {
			ID, TagValue, ETag string
			Count              tagCount
		}
	}
	operationBody struct {
		Name         string
		IsDataAction bool
		Display      struct{ Provider, Resource, Operation, Description string }
	}
)
