package contract

// Patched is an object with a JSON merge-patch (RFC 7396) applied; neither changes.
func Patched(target, patch Object) Object {
	merged, _ := mergePatch(target, patch).(Object)
	return merged
}
