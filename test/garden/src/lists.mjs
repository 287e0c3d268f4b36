// Collections and their pages.
import { invalid } from './errors.mjs'
import { view } from './view.mjs'

// The token of a page is the order of the last element before it, so nothing is lost when others come and go.
export function answerList(request, query, resources) {
  const top = whole(query, '$top', Infinity, 1)
  const after = whole(query, '$skiptoken', 0, 0)
  const rest = resources.filter(({ order }) => order > after)
  const page = rest.slice(0, top)
  const value = page.map(view)
  return page.length === rest.length ? { value } : { value, nextLink: next(request, page.at(-1).order) }
}

/** A number of the query. Its members are in lower case there. */
function whole(query, name, otherwise, least) {
  if (query[name] === undefined) return otherwise
  const number = Number(query[name])
  if (!Number.isInteger(number) || number < least) throw invalid(`'${query[name]}' is no ${name}.`, 'InvalidQueryParameter')
  return number
}

/** The URL by which the client came, as the front door tells it, with a $skipToken in place of any other. */
function next(request, token) {
  const url = request.headers.referer ?? `http://${request.headers.host}${request.url}`
  const [path, query = ''] = url.split('?')
  const members = query.split('&').filter((member) => member && !/^(\$|%24)skiptoken=/i.test(member))
  return `${path}?${[...members, `$skipToken=${token}`].join('&')}`
}
