package contract

import (
	"strings"
)

// actionCases check POST {resource}/{action} that ends immediately.
func actionCases() []Case {
	return []Case{
		{
			ID: "action/answers", Profile: Core, Section: asyncPost, On: hasActions,
			Rule: "an action that is done at once answers 200 or 204, in any casing of its name",
			Run: func(s *Scene) {
				s.made()
				for _, action := range s.Type.Contract.Actions {
					if action.Asynchronous {
						continue
					}
					for _, name := range []string{action.Name, strings.ToUpper(action.Name)} {
						s.post(s.id+"/"+name, nil).status(action.Status).shows(action.Shows)
					}
				}
			},
		},
		{
			ID: "action/unknown", Profile: Core, Section: asyncPost, On: isTop,
			Rule: "an action that the type does not have is refused",
			Run: func(s *Scene) {
				s.made()
				s.post(s.id+"/noSuchAction", nil).refused(400, 404, 405)
			},
		},
		{
			ID: "action/on-what-is-not-there", Profile: Core, Section: asyncPost, On: hasActions,
			Rule: "an action on a resource that does not exist is 404",
			Run: func(s *Scene) {
				for _, action := range s.Type.Contract.Actions {
					s.post(beside(s.id, "absent")+"/"+action.Name, nil).refused(404)
				}
			},
		},
	}
}
