package contract

import (
	"net/http"
)

// actionCases check POST {resource}/{action} that ends immediately.
func actionCases() []Case {
	return []Case{
		{
			ID: "action/answers", Profile: Core, Section: asyncPost, On: hasActions,
			Rule: "a synchronous action answers 200 or 204, an asynchronous one 202",
			Run: func(s *Scene) {
				s.created()
				tried := false
				for _, action := range s.Type.Contract.Actions {
					if action.Asynchronous {
						continue
					}
					tried = true
					if a := s.post(s.id+"/"+action.Name, nil); a.Status != http.StatusAccepted {
						a.status(action.Status).shows(action.Shows)
					}
				}
				if !tried {
					s.leaveOut("the description has only asynchronous actions")
				}
			},
		},
		{
			ID: "action/unknown", Profile: Core, Section: asyncPost, On: isFirst,
			Rule: "an action that does not exist on the type is refused",
			Run: func(s *Scene) {
				s.created()
				s.post(s.id+"/noSuchAction", nil).refused()
			},
		},
		{
			ID: "action/on-what-is-not-there", Profile: Core, Section: asyncPost, On: hasActions,
			Rule: "an action on a resource that does not exist is 404",
			Run: func(s *Scene) {
				for _, action := range s.Type.Contract.Actions {
					s.post(sibling(s.id, "absent")+"/"+action.Name, nil).refused(404)
				}
			},
		},
	}
}
