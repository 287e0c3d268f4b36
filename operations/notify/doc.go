// Package notify tells providers what has become of a subscription (subscription
// lifecycle), so that each endpoint learns the newest version last, and brings
// registrations and deleted subscriptions to their end.
package notify
