package arm

import "net/http"

// Code is the machine-readable name of a fault, as ARM spells it; clients match
// on it byte for byte.
type Code string

// The codes of the front door's own answers.
const (
	AuthenticationFailed                     Code = "AuthenticationFailed"
	AuthorizationFailed                      Code = "AuthorizationFailed"
	BadGatewayConnection                     Code = "BadGatewayConnection"
	CannotMoveResource                       Code = "CannotMoveResource"
	ClientClosedRequest                      Code = "ClientClosedRequest"
	Conflict                                 Code = "Conflict"
	ExpiredAuthenticationToken               Code = "ExpiredAuthenticationToken"
	ExpiredSkipToken                         Code = "ExpiredSkipToken"
	FeatureNotFound                          Code = "FeatureNotFound"
	Forbidden                                Code = "Forbidden"
	GatewayTimeout                           Code = "GatewayTimeout"
	HTTPResourceNotFound                     Code = "HttpResourceNotFound"
	InternalServerError                      Code = "InternalServerError"
	InvalidActionOrNotAction                 Code = "InvalidActionOrNotAction"
	InvalidAPIVersionParameter               Code = "InvalidApiVersionParameter"
	InvalidAuthenticationToken               Code = "InvalidAuthenticationToken"
	DeploymentActive                         Code = "DeploymentActive"
	DeploymentCanceled                       Code = "DeploymentCanceled"
	DeploymentFailed                         Code = "DeploymentFailed"
	DeploymentNotFound                       Code = "DeploymentNotFound"
	DeploymentNotRunning                     Code = "DeploymentNotRunning"
	DeploymentOperationNotFound              Code = "DeploymentOperationNotFound"
	DeploymentOutputEvaluationFailed         Code = "DeploymentOutputEvaluationFailed"
	DeploymentSizeExceeded                   Code = "DeploymentSizeExceeded"
	ResourceDeploymentFailure                Code = "ResourceDeploymentFailure"
	InvalidDeployment                        Code = "InvalidDeployment"
	InvalidDeploymentLocation                Code = "InvalidDeploymentLocation"
	InvalidGatewayHost                       Code = "InvalidGatewayHost"
	InvalidPrincipalID                       Code = "InvalidPrincipalId"
	InvalidProviderResponse                  Code = "InvalidProviderResponse"
	InvalidQueryParameter                    Code = "InvalidQueryParameter"
	InvalidRequestContent                    Code = "InvalidRequestContent"
	InvalidRequestHeader                     Code = "InvalidRequestHeader"
	InvalidRequestURI                        Code = "InvalidRequestUri"
	InvalidResourceGroup                     Code = "InvalidResourceGroup"
	InvalidResourceGroupLocation             Code = "InvalidResourceGroupLocation"
	InvalidResourceLocation                  Code = "InvalidResourceLocation"
	InvalidResourceName                      Code = "InvalidResourceName"
	InvalidResourceNamespace                 Code = "InvalidResourceNamespace"
	InvalidResourceType                      Code = "InvalidResourceType"
	InvalidRoleAssignmentID                  Code = "InvalidRoleAssignmentId"
	InvalidRoleDefinitionID                  Code = "InvalidRoleDefinitionId"
	InvalidSkipToken                         Code = "InvalidSkipToken"
	InvalidSubscriptionID                    Code = "InvalidSubscriptionId"
	InvalidTagNameCharacters                 Code = "InvalidTagNameCharacters"
	InvalidTagNameLength                     Code = "InvalidTagNameLength"
	InvalidTagValueLength                    Code = "InvalidTagValueLength"
	InvalidTemplate                          Code = "InvalidTemplate"
	InvalidTemplateDeployment                Code = "InvalidTemplateDeployment"
	LinkedAuthorizationFailed                Code = "LinkedAuthorizationFailed"
	LinkedInvalidPropertyID                  Code = "LinkedInvalidPropertyId"
	LocationNotAvailableForDeployment        Code = "LocationNotAvailableForDeployment"
	LocationNotAvailableForGroup             Code = "LocationNotAvailableForResourceGroup"
	LocationNotAvailableForResourceType      Code = "LocationNotAvailableForResourceType"
	LocationRequired                         Code = "LocationRequired"
	LocationUnderMaintenance                 Code = "LocationUnderMaintenance"
	LockNotFound                             Code = "LockNotFound"
	LockQuotaExceeded                        Code = "LockQuotaExceeded"
	MethodNotAllowed                         Code = "MethodNotAllowed"
	MisdirectedRequest                       Code = "MisdirectedRequest"
	MissingAPIVersionParameter               Code = "MissingApiVersionParameter"
	MissingRegistrationForLocation           Code = "MissingRegistrationForLocation"
	MissingSubscriptionRegistration          Code = "MissingSubscriptionRegistration"
	NoRegisteredProviderFound                Code = "NoRegisteredProviderFound"
	NotImplemented                           Code = "NotImplemented"
	OperationCanceled                        Code = "OperationCanceled"
	ParentResourceNotFound                   Code = "ParentResourceNotFound"
	PreconditionFailed                       Code = "PreconditionFailed"
	ReadOnlyDisabledSubscription             Code = "ReadOnlyDisabledSubscription"
	RequestConflict                          Code = "RequestConflict"
	RequestContentTooLarge                   Code = "RequestContentTooLarge"
	RequestDisallowedByPolicy                Code = "RequestDisallowedByPolicy"
	ReservedTagName                          Code = "ReservedTagName"
	ResourceGroupBeingDeleted                Code = "ResourceGroupBeingDeleted"
	ResourceGroupDeletionBlocked             Code = "ResourceGroupDeletionBlocked"
	ResourceGroupDeletionTimeout             Code = "ResourceGroupDeletionTimeout"
	ResourceGroupNotFound                    Code = "ResourceGroupNotFound"
	ResourceGroupQuotaExceeded               Code = "ResourceGroupQuotaExceeded"
	ResourceMoveFailed                       Code = "ResourceMoveFailed"
	ResourceMoveProviderValidationFailed     Code = "ResourceMoveProviderValidationFailed"
	ResourceMoveValidationFailed             Code = "ResourceMoveValidationFailed"
	ResourceNotFound                         Code = "ResourceNotFound"
	ResourceNotTopLevel                      Code = "ResourceNotTopLevel"
	ResourceQuotaExceeded                    Code = "ResourceQuotaExceeded"
	ResourcesBeingMoved                      Code = "ResourcesBeingMoved"
	ResponseTooLarge                         Code = "ResponseTooLarge"
	ResourceTypeNotSupported                 Code = "ResourceTypeNotSupported"
	ResourceValidationFailed                 Code = "ResourceValidationFailed"
	RoleAssignmentExists                     Code = "RoleAssignmentExists"
	RoleAssignmentLimitExceeded              Code = "RoleAssignmentLimitExceeded"
	RoleAssignmentNotFound                   Code = "RoleAssignmentNotFound"
	RoleAssignmentUpdateNotPermitted         Code = "RoleAssignmentUpdateNotPermitted"
	RoleDefinitionDoesNotExist               Code = "RoleDefinitionDoesNotExist"
	RoleDefinitionHasAssignments             Code = "RoleDefinitionHasAssignments"
	RoleDefinitionLimitExceeded              Code = "RoleDefinitionLimitExceeded"
	RoleDefinitionWithSameNameExists         Code = "RoleDefinitionWithSameNameExists"
	RoleScopeBeingRemovedContainsAssignments Code = "RoleScopeBeingRemovedContainsAssignments"
	ScopeLocked                              Code = "ScopeLocked"
	ServerBusy                               Code = "ServerBusy"
	ServerTimeout                            Code = "ServerTimeout"
	ServiceUnavailable                       Code = "ServiceUnavailable"
	SubscriptionNotFound                     Code = "SubscriptionNotFound"
	SubscriptionRequestsThrottled            Code = "SubscriptionRequestsThrottled"
	TagCountExceeded                         Code = "TagCountExceeded"
	TagNameInUse                             Code = "TagNameInUse"
	TagNameNotFound                          Code = "TagNameNotFound"
	TagQuotaExceeded                         Code = "TagQuotaExceeded"
	TagsNotSupported                         Code = "TagsNotSupported"
	TagValueInUse                            Code = "TagValueInUse"
	TenantRequestsThrottled                  Code = "TenantRequestsThrottled"
	TooManyRequests                          Code = "TooManyRequests"
	UnregisterNotAllowed                     Code = "CannotUnregisterNamespaceWithResources"
	UnsupportedMediaType                     Code = "UnsupportedMediaType"
)

// fault holds the status of a code and the form of its message.
type fault struct {
	status int
	text   string
}

// StatusClientClosed is the status of [ClientClosedRequest], which HTTP
// lacks. It is for the log and the metrics: no client reads the answer.
const StatusClientClosed = 499

// Known reports whether this package defines the code.
func (c Code) Known() bool {
	_, known := faults[c]
	return known
}

// faults holds each code's status and ARM's wording. If ARM has several wordings for a
// code, the others are in wordings.
var faults = map[Code]fault{
	AuthenticationFailed: {http.StatusUnauthorized, "Authentication failed. The 'Authorization' header is missing."},
	AuthorizationFailed: {http.StatusForbidden,
		"The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. If access was " +
			"recently granted, please refresh your credentials."},
	InvalidAuthenticationToken: {http.StatusUnauthorized, "The access token is invalid."},
	BadGatewayConnection:       {http.StatusBadGateway, "The network connectivity issue encountered for '%s'; cannot fulfill the request."},
	CannotMoveResource:         {http.StatusBadRequest, "The resources cannot be moved: %s."},
	Conflict: {http.StatusConflict,
		"The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog to get more details on " +
			"the conflicting requests."},
	ClientClosedRequest:        {StatusClientClosed, "The client went away before the request was answered."},
	ExpiredAuthenticationToken: {http.StatusUnauthorized, "The access token expiry UTC time '%s' is earlier than current UTC time '%s'."},
	ExpiredSkipToken: {http.StatusGone,
		"The skip token can no longer be used: %s. Please begin the list anew."},
	FeatureNotFound:      {http.StatusNotFound, "The feature '%s' could not be found."},
	Forbidden:            {http.StatusForbidden, "%s"},
	GatewayTimeout:       {http.StatusGatewayTimeout, "The gateway did not receive a response from '%s' within the specified time period."},
	HTTPResourceNotFound: {http.StatusNotFound, "No HTTP resource was found that matches the request URI '%s'."},
	InternalServerError: {http.StatusInternalServerError,
		"Encountered internal server error. Diagnostic information: timestamp '%s', subscription id '%s', tracking id '%s', request correlation id '%s'."},
	InvalidAPIVersionParameter: {http.StatusBadRequest, "The api-version '%s' is invalid. The supported versions are '%s'."},
	DeploymentActive:           {http.StatusConflict, "Unable to edit or replace deployment '%s': the previous deployment from '%s' is still active."},
	DeploymentCanceled:         {http.StatusConflict, "The deployment '%s' was canceled."},
	DeploymentFailed: {http.StatusConflict,
		"At least one resource deployment operation failed. Please list deployment operations for details."},
	DeploymentNotFound:               {http.StatusNotFound, "Deployment '%s' could not be found."},
	DeploymentNotRunning:             {http.StatusConflict, "The deployment '%s' cannot be canceled: it is not running, its state is '%s'."},
	DeploymentOperationNotFound:      {http.StatusNotFound, "The deployment operation '%s' could not be found."},
	DeploymentOutputEvaluationFailed: {http.StatusConflict, "Unable to evaluate the template output '%s': %s."},
	DeploymentSizeExceeded:           {http.StatusBadRequest, "The deployment '%s' is too large: %s."},
	ResourceDeploymentFailure: {http.StatusConflict,
		"The resource write operation failed to complete successfully, because it reached terminal provisioning state '%s'."},
	InvalidDeployment:         {http.StatusBadRequest, "The deployment '%s' is invalid: %s."},
	InvalidDeploymentLocation: {http.StatusConflict, "Invalid deployment location '%s'. The deployment '%s' already exists in location '%s'."},
	InvalidGatewayHost:        {http.StatusBadGateway, "Host name resolution failed for '%s'; cannot fulfill the request."},
	InvalidProviderResponse:   {http.StatusBadGateway, "The resource provider '%s' returned an invalid response: %s."},
	InvalidQueryParameter:     {http.StatusBadRequest, "The query parameter '%s' is invalid: %s."},
	InvalidRequestContent:     {http.StatusBadRequest, "The request content was invalid and could not be deserialized: '%s'."},
	InvalidRequestHeader:      {http.StatusBadRequest, "The request header '%s' is invalid: %s."},
	InvalidRequestURI:         {http.StatusBadRequest, "The request URI is invalid: %s."},
	InvalidResourceGroup: {http.StatusBadRequest,
		"The provided resource group name '%s' has these invalid characters: '%s'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'."},
	InvalidResourceGroupLocation: {http.StatusConflict,
		"Invalid resource group location '%s'. The Resource group already exists in location '%s'."},
	InvalidResourceLocation: {http.StatusConflict,
		"The resource '%s' already exists in location '%s' in resource group '%s'. A resource with the same name cannot be created in location '%s'. " +
			"Please select a new resource name."},
	InvalidResourceName: {http.StatusBadRequest,
		"The provided resource name '%s' is invalid. A name has 1 to 260 characters and cannot include '<', '>', '%%', '&', ':', '\\', '?', " +
			"'/' or control characters."},
	InvalidResourceNamespace: {http.StatusNotFound, "The resource namespace '%s' is invalid."},
	InvalidResourceType:      {http.StatusNotFound, "The resource type could not be found in the namespace '%s' for api version '%s'."},
	InvalidSkipToken:         {http.StatusBadRequest, "The skip token is invalid."},
	InvalidSubscriptionID:    {http.StatusBadRequest, "The provided subscription identifier '%s' is malformed or invalid."},
	InvalidTagNameCharacters: {http.StatusBadRequest,
		"The tag names '%s' have reserved characters '<,>,%%,&,\\,?,/' or control characters."},
	InvalidTagNameLength: {http.StatusBadRequest,
		"The tag name '%s' is invalid: a tag name has 1 to 512 characters."},
	InvalidTagValueLength: {http.StatusBadRequest,
		"The value of the tag '%s' is invalid: a tag value has at most 256 characters."},
	LinkedAuthorizationFailed: {http.StatusForbidden,
		"The client '%s' with object id '%s' has permission to perform action '%s' on scope '%s'; however, it does not have permission to perform action " +
			"'%s' on the linked scope(s) '%s' or the linked scope(s) are invalid."},
	InvalidTemplateDeployment: {http.StatusBadRequest,
		"The template deployment '%s' is not valid according to the validation procedure. See inner errors for details."},
	InvalidTemplate: {http.StatusBadRequest, "Deployment template validation failed: '%s'."},
	LinkedInvalidPropertyID: {http.StatusBadRequest,
		"Property id '%s' at path '%s' is invalid. Expect fully qualified resource Id that start with '/subscriptions/{subscriptionId}' or " +
			"'/providers/{resourceProviderNamespace}/'."},
	LocationNotAvailableForDeployment: {http.StatusBadRequest,
		"The provided location '%s' is not available for deployment. List of available regions is '%s'."},
	LocationNotAvailableForGroup: {http.StatusBadRequest,
		"The provided location '%s' is not available for resource group. List of available regions is '%s'."},
	LocationNotAvailableForResourceType: {http.StatusBadRequest,
		"The provided location '%s' is not available for resource type '%s'. List of available regions for the resource type is '%s'."},
	LocationUnderMaintenance: {http.StatusServiceUnavailable,
		"No resources can be created in the location '%s' until %s, because of maintenance: %s. Existing resources can be used."},
	LocationRequired: {http.StatusBadRequest, "The location property is required for this definition."},
	LockNotFound:     {http.StatusNotFound, "The lock '%s' could not be found."},
	LockQuotaExceeded: {http.StatusConflict,
		"Creating the lock '%s' would exceed the quota of '%d' locks per scope. The current lock count is '%d', please delete some locks of the scope " +
			"before creating a new one."},
	MethodNotAllowed:           {http.StatusMethodNotAllowed, "The requested resource does not support http method '%s'."},
	MisdirectedRequest:         {http.StatusMisdirectedRequest, "The host of this request is none that this service answers for."},
	MissingAPIVersionParameter: {http.StatusBadRequest, "The api-version query parameter (?api-version=) is required for all requests."},
	MissingRegistrationForLocation: {http.StatusConflict,
		"The subscription is not registered for the resource type '%s' in the location '%s'. Re-register for this provider in order to have " +
			"access to this location."},
	MissingSubscriptionRegistration: {http.StatusConflict,
		"The subscription is not registered to use namespace '%s'. See https://aka.ms/rps-not-found for how to register subscriptions."},
	NoRegisteredProviderFound: {http.StatusBadRequest,
		"No registered resource provider found for location '%s' and API version '%s' for type '%s'. The supported api-versions are '%s'. The " +
			"supported locations are '%s'."},
	NotImplemented:         {http.StatusNotImplemented, "The http method is not implemented."},
	ParentResourceNotFound: {http.StatusNotFound, "Can not perform requested operation on nested resource. Parent resource '%s' not found."},
	OperationCanceled: {http.StatusConflict,
		"The deletion of resource group '%s' was canceled. The provisioning state of the resource group is rolled back; what was deleted stays deleted."},
	PreconditionFailed: {http.StatusPreconditionFailed, "The condition '%s' is not met by the present state of '%s'. Read it again and decide anew."},
	ReadOnlyDisabledSubscription: {http.StatusConflict,
		"The subscription '%s' is disabled and therefore marked as read only. You cannot perform any write actions on this subscription " +
			"until it is re-enabled."},
	RequestConflict: {http.StatusConflict,
		"The resource '%s' conflicts with another one, or with what is being done to it: %s."},
	RequestContentTooLarge: {http.StatusRequestEntityTooLarge, "The request content size exceeds the maximum size of %s."},
	ResourceGroupBeingDeleted: {http.StatusConflict,
		"The resource group '%s' is in deprovisioning state and cannot perform this operation."},
	ResourceGroupDeletionBlocked: {http.StatusConflict,
		"Deletion of resource group '%s' failed as resources with identifiers '%s' could not be deleted. The provisioning state of the resource group " +
			"will be rolled back. The tracking Id is '%s'. Please check audit logs for more details."},
	ResourceGroupDeletionTimeout: {http.StatusConflict,
		"Deletion of resource group '%s' did not finish within the allowed time as resources with identifiers '%s' could not be deleted. The provisioning " +
			"state of the resource group will be rolled back. The tracking Id is '%s'. Please check audit logs for more details."},
	ResourceGroupNotFound: {http.StatusNotFound, "Resource group '%s' could not be found."},
	ResourceGroupQuotaExceeded: {http.StatusConflict,
		"Creating the resource group '%s' would exceed the quota of '%d'. The current resource group count is '%d', please delete some resource groups " +
			"before creating a new one."},
	ResourceMoveFailed: {http.StatusConflict,
		"%d of %d resources could not be moved to the resource group '%s'. Please see details. The tracking Id is '%s'."},
	ResourceMoveProviderValidationFailed: {http.StatusConflict,
		"Resource move validation failed. Please see details. Diagnostic information: timestamp '%s', subscription id '%s', tracking id '%s', " +
			"request correlation id '%s'."},
	ResourceMoveValidationFailed: {http.StatusBadRequest, "Resource move is not supported for resource types '%s'"},
	ResourceNotFound: {http.StatusNotFound,
		"The Resource '%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"},
	ResourceNotTopLevel: {http.StatusBadRequest, "Identifier '%s' is not a top level resource."},
	ResourceQuotaExceeded: {http.StatusConflict,
		"Creating the resource of type %[1]s would exceed the quota of %[2]d resources of type %[1]s per resource group. The current resource count is " +
			"%[3]d, please delete some resources of this type before creating a new one."},
	ResourcesBeingMoved: {http.StatusConflict,
		"The resource group '%s' is locked, as resources are being moved from or to it. Nothing in it can be created, changed or deleted " +
			"until the move has ended."},
	ResourceTypeNotSupported: {http.StatusBadRequest, "%s"},
	ResourceValidationFailed: {http.StatusBadRequest, "%d of %d resources would be refused. See details."},
	ResponseTooLarge: {http.StatusInternalServerError,
		"The response of '%s' exceeds the maximum size of %s and was dropped."},
	ScopeLocked: {http.StatusConflict,
		"The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again."},
	ServerBusy:         {http.StatusServiceUnavailable, "The server is busy: %s. Please retry later."},
	ServiceUnavailable: {http.StatusServiceUnavailable, "The service is unavailable: %s. Please retry later."},
	ServerTimeout: {http.StatusServiceUnavailable,
		"The request timed out. Diagnostic information: timestamp '%s', subscription id '%s', tracking id '%s', request correlation id '%s'."},
	SubscriptionNotFound: {http.StatusNotFound, "The subscription '%s' could not be found."},
	TagCountExceeded: {http.StatusBadRequest,
		"The number of tags '%d' exceeds the maximum of '%d'."},
	SubscriptionRequestsThrottled: {http.StatusTooManyRequests,
		"Number of '%s' requests for subscription '%s' actor '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. " +
			"Refer to https://aka.ms/arm-throttling for additional information."},
	TenantRequestsThrottled: {http.StatusTooManyRequests,
		"Number of '%s' requests for tenant '%s' actor '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. Refer to " +
			"https://aka.ms/arm-throttling for additional information."},
	TooManyRequests: {http.StatusTooManyRequests, "The request was throttled: %s. Please retry later."},
	UnregisterNotAllowed: {http.StatusConflict,
		"The subscription cannot be unregistered from namespace '%s' while it holds resources of it. Please delete them first."},
	UnsupportedMediaType: {http.StatusUnsupportedMediaType,
		"The content media type '%s' is not supported. Only 'application/json' is supported."},
	TagNameInUse:    {http.StatusConflict, "The tag name '%s' cannot be deleted: %s."},
	TagValueInUse:   {http.StatusConflict, "The value '%s' of the tag name '%s' cannot be deleted: it is in use."},
	TagNameNotFound: {http.StatusNotFound, "The tag name '%s' could not be found."},
	TagQuotaExceeded: {http.StatusConflict,
		"Defining the tag '%s' would exceed the quota of '%d' tag names and values per subscription. The current count is '%d', please delete some of " +
			"them before defining a new one."},
	TagsNotSupported:         {http.StatusBadRequest, "The resource type '%s' does not support tags."},
	ReservedTagName:          {http.StatusBadRequest, "The tag name '%s' is invalid: the prefix '%s' is reserved."},
	InvalidActionOrNotAction: {http.StatusBadRequest, "'%s' does not match any of the actions that a role can name."},
	InvalidPrincipalID:       {http.StatusBadRequest, "The principal ID '%s' is not valid. Principal ID must be a GUID."},
	InvalidRoleAssignmentID:  {http.StatusBadRequest, "The role assignment ID '%s' is not valid. The role assignment ID must be a GUID."},
	InvalidRoleDefinitionID:  {http.StatusBadRequest, "The role definition ID '%s' is not valid. The role definition ID must be a GUID."},
	RoleAssignmentExists:     {http.StatusConflict, "The role assignment already exists."},
	RoleAssignmentLimitExceeded: {http.StatusConflict,
		"No more role assignments can be created: there may be '%d'. Remove some, or assign roles to groups."},
	RoleAssignmentNotFound:           {http.StatusNotFound, "The role assignment '%s' is not found."},
	RoleAssignmentUpdateNotPermitted: {http.StatusConflict, "Tenant ID, application ID, principal ID, and scope are not allowed to be updated."},
	RoleDefinitionDoesNotExist:       {http.StatusNotFound, "The specified role definition with ID '%s' does not exist."},
	RoleDefinitionHasAssignments: {http.StatusBadRequest,
		"There are existing role assignments referencing role (code: RoleDefinitionHasAssignments)."},
	RoleDefinitionLimitExceeded: {http.StatusConflict,
		"Role definition limit exceeded. No more role definitions can be created: there may be '%d'."},
	RoleDefinitionWithSameNameExists: {http.StatusConflict,
		"A custom role with the same name already exists in this directory. Use a different name: '%s'."},
	RoleScopeBeingRemovedContainsAssignments: {http.StatusBadRequest,
		"Role assignments found under scope '%s' which is being removed. Removing this scope from the role will orphan these assignments. Delete these " +
			"assignments before removing the scope."},
	RequestDisallowedByPolicy: {http.StatusForbidden, "Resource '%s' was disallowed by policy. Reasons: '%s'."},
}
