// The smallest resource provider that keeps the profiles core, tracked, tags and preflight of the
// contract: one type, Acme.Stuff/widgets, in one region, with its state in memory. It
// needs Node and no packages:
//
//	node first-provider.mjs 9000 westus
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

const [port = '9000', region = 'westus'] = process.argv.slice(2)
const namespace = 'Acme.Stuff'
const type = 'widgets'
const apiVersions = ['2024-01-01']
const sizes = ['small', 'large']
const operations = ['read', 'write', 'delete'].map((operation) => ({
	name: `${namespace}/${type}/${operation}`,
	display: { provider: 'Acme Stuff', resource: 'Widget', operation: `${operation} a widget`, description: `Lets a caller ${operation} widgets.` },
}))

const subscriptions = new Map() // what the front door has told of each: id → state
const widgets = new Map() // by their ids in lower case

class Refusal extends Error {
	constructor(status, code, message) {
		super(message)
		this.status = status
		this.code = code
	}
}

const refuse = (status, code, message) => { throw new Refusal(status, code, message) }

createServer(async (request, response) => {
	let answer
	try {
		answer = await route(request)
	} catch (failure) {
		if (!(failure instanceof Refusal)) console.error(failure)
		const { status = 500, code = 'InternalServerError' } = failure
		const message = failure instanceof Refusal ? failure.message : 'The provider failed.'
		answer = { status, body: { error: { code, message } } }
	}
	response.statusCode = answer.status
	response.setHeader('x-ms-request-id', randomUUID())
	if (answer.body === undefined) return response.end()
	const text = JSON.stringify(answer.body)
	response.setHeader('Content-Type', 'application/json; charset=utf-8')
	response.setHeader('Content-Length', Buffer.byteLength(text))
	response.end(request.method === 'HEAD' ? undefined : text)
}).listen(Number(port), '127.0.0.1', function () {
	console.log(`serving ${namespace}/${type} in ${region} on http://127.0.0.1:${this.address().port}`)
})

async function route(request) {
	const url = new URL(request.url, 'http://provider')
	const segments = url.pathname.split('/').slice(1).map(decode)
	const is = (at, word) => segments[at]?.toLowerCase() === word.toLowerCase()

	if (segments.length === 2 && is(0, 'subscriptions') && request.method === 'PUT') {
		return notice(segments[1].toLowerCase(), await object(request))
	}
	if (request.method === 'POST' && is(4, 'providers') && is(5, namespace) && is(6, 'deployments') && is(8, 'preflight')) {
		return { status: 200, body: judge(segments.slice(0, 4).join('/'), (await object(request)).resources ?? []) }
	}
	const version = url.searchParams.get('api-version')
	if (!version) refuse(400, 'MissingApiVersionParameter', 'The api-version query parameter (?api-version=) is required for all requests.')

	if (segments.length === 3 && is(0, 'providers') && is(1, namespace) && is(2, 'operations') && request.method === 'GET') {
		return { status: 200, body: { value: operations } }
	}
	// /subscriptions/{s}[/resourceGroups/{g}]/providers/Acme.Stuff/widgets[/{name}]
	const grouped = is(2, 'resourceGroups')
	const at = grouped ? 4 : 2
	if (!is(0, 'subscriptions') || !is(at, 'providers') || !is(at + 1, namespace) || !is(at + 2, type) || segments.length > at + 4) {
		refuse(404, 'InvalidResourceType', `The path '${url.pathname}' names nothing that ${namespace} serves.`)
	}
	if (!apiVersions.includes(version)) {
		refuse(400, 'InvalidApiVersionParameter', `The api-version '${version}' is not supported. Supported are ${apiVersions}.`)
	}
	if (grouped && !/^[\p{L}\p{N}_().-]{0,89}[\p{L}\p{N}_()-]$/u.test(segments[3])) {
		refuse(400, 'InvalidResourceGroupName', `The resource group name '${segments[3]}' is invalid.`)
	}
	const scope = '/' + segments.slice(0, at + 3).join('/')
	if (segments.length === at + 3) {
		if (request.method !== 'GET') refuse(405, 'MethodNotAllowed', `${request.method} is not supported on a collection.`)
		return list(request, url, grouped ? scope : '/' + segments.slice(0, 2).join('/'))
	}
	const name = segments[at + 3]
	if (!grouped || !/^[^<>%&:\\?/\p{Cc}]{1,260}$/u.test(name)) {
		refuse(400, 'InvalidResourceName', `The resource name '${name}' is invalid.`)
	}
	const id = `/subscriptions/${segments[1]}/resourceGroups/${segments[3]}/providers/${namespace}/${type}/${name}`
	switch (request.method) {
	case 'GET':
	case 'HEAD':
		return { status: 200, body: find(id) }
	case 'PUT':
		return put(id, name, await object(request), systemData(request))
	case 'PATCH':
		return patch(id, name, await object(request), systemData(request))
	case 'DELETE':
		return { status: widgets.delete(id.toLowerCase()) ? 200 : 204 }
	}
	refuse(405, 'MethodNotAllowed', `${request.method} is not supported.`)
}

// notice hears what becomes of a subscription; what a deleted one had goes with it.
function notice(subscription, { state }) {
	subscriptions.set(subscription, state)
	if (state === 'Deleted') {
		for (const id of widgets.keys()) if (id.startsWith(`/subscriptions/${subscription}/`)) widgets.delete(id)
	}
	return { status: 200, body: {} }
}

// judge says whether the PUTs of planned widgets would be accepted.
function judge(group, resources) {
	for (const { name, type: full, apiVersion, ...body } of resources) {
		try {
			if (full?.toLowerCase() !== `${namespace}/${type}`.toLowerCase()) refuse(404, 'InvalidResourceType', `The type '${full}' is not served.`)
			wanted(`/${group}/providers/${namespace}/${type}/${name}`, name, body, {})
		} catch ({ code = 'InvalidRequestContent', message }) {
			return { status: 'Failed', error: { code, message } }
		}
	}
	return { status: 'Succeeded' }
}

function put(id, name, body, written) {
	const before = widgets.get(id.toLowerCase())
	const widget = wanted(id, name, body, written)
	widgets.set(id.toLowerCase(), widget)
	return { status: before ? 200 : 201, body: widget }
}

// wanted is what a PUT would make of a widget, unless it is refused.
function wanted(id, name, body, written) {
	const before = widgets.get(id.toLowerCase())
	if (body.location === undefined) refuse(400, 'LocationRequired', 'The location property is required for this definition.')
	if (place(body.location) !== region) {
		refuse(400, 'LocationNotAvailableForResourceType', `The location '${body.location}' is not available. It is ${region}.`)
	}
	return {
		id, name, type: `${namespace}/${type}`, location: region,
		tags: tags(body.tags),
		properties: { ...properties(body.properties ?? {}, before), provisioningState: 'Succeeded' },
		systemData: { ...before?.systemData, ...(before ? modified(written) : written) },
	}
}

function patch(id, name, body, written) {
	const before = find(id)
	if (body.location !== undefined && place(body.location) !== region) refuse(400, 'InvalidResourceLocation', 'The location cannot change.')
	if (body.name !== undefined && body.name !== before.name) refuse(400, 'InvalidResourceName', 'The name cannot change.')
	if (body.type !== undefined && body.type.toLowerCase() !== before.type.toLowerCase()) refuse(400, 'InvalidResourceType', 'The type cannot change.')
	const widget = {
		...before, id, name,
		tags: body.tags === undefined ? before.tags : tags(body.tags), // replaced as a whole
		properties: properties(body.properties === undefined ? before.properties : merge(before.properties, body.properties), before),
		systemData: { ...before.systemData, ...modified(written) },
	}
	widget.properties.provisioningState = 'Succeeded'
	widgets.set(id.toLowerCase(), widget)
	return { status: 200, body: widget }
}

// list answers a page of those below the scope: $top at most, and a link to the rest. The
// link is the front door's URL, which Referer has, with a $skipToken: the id after which
// to go on, so that a page loses nothing when others come and go.
function list(request, url, scope) {
	const top = Number(parameter(url, '$top') ?? 100)
	if (!Number.isInteger(top) || top < 1) refuse(400, 'InvalidTop', 'The $top must be a positive integer.')
	const after = Buffer.from(parameter(url, '$skiptoken') ?? '', 'base64url').toString()
	const rest = [...widgets.keys()].filter((id) => id.startsWith(scope.toLowerCase() + '/') && id > after).sort()
	const page = rest.slice(0, top)
	const body = { value: page.map((id) => widgets.get(id)) }
	if (page.length < rest.length) {
		const next = new URL(request.headers.referer ?? url)
		for (const key of [...next.searchParams.keys()]) if (key.toLowerCase() === '$skiptoken') next.searchParams.delete(key)
		next.searchParams.set('$skipToken', Buffer.from(page.at(-1)).toString('base64url'))
		body.nextLink = next.href
	}
	return { status: 200, body }
}

function find(id) {
	return widgets.get(id.toLowerCase()) ?? refuse(404, 'ResourceNotFound', `The resource '${id}' was not found.`)
}

function properties(given, before) {
	if (!isObject(given)) refuse(400, 'InvalidRequestContent', 'properties must be an object.')
	const { provisioningState, ...rest } = given
	if (provisioningState !== undefined && provisioningState !== (before ? 'Succeeded' : undefined)) {
		refuse(400, 'InvalidProvisioningState', `The provisioningState '${provisioningState}' is not the resource's.`)
	}
	if (!sizes.includes(rest.size)) refuse(400, 'InvalidSize', `properties.size must be one of ${sizes}.`)
	return rest
}

function tags(given = {}) {
	if (!isObject(given)) refuse(400, 'InvalidTags', 'tags must be an object.')
	for (const [key, value] of Object.entries(given)) {
		if (!/^[^<>%&\\?/\p{Cc}]{1,512}$/u.test(key)) refuse(400, 'InvalidTagName', `The tag name '${key}' is invalid.`)
		if (typeof value !== 'string' || value.length > 256) refuse(400, 'InvalidTagValue', `The value of the tag '${key}' is invalid.`)
	}
	return given
}

// merge applies a JSON merge patch (RFC 7396).
function merge(target, patch) {
	if (!isObject(patch)) return patch
	const merged = isObject(target) ? { ...target } : {}
	for (const [key, value] of Object.entries(patch)) {
		if (value === null) delete merged[key]
		else merged[key] = merge(merged[key], value)
	}
	return merged
}

// systemData says who writes, by the word of the front door.
const systemData = (request) => JSON.parse(request.headers['x-ms-arm-resource-system-data'] ?? '{}')
const modified = ({ lastModifiedBy, lastModifiedByType, lastModifiedAt }) => ({ lastModifiedBy, lastModifiedByType, lastModifiedAt })

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)
const place = (location) => String(location).replaceAll(' ', '').toLowerCase()

function parameter(url, name) {
	for (const [key, value] of url.searchParams) if (key.toLowerCase() === name) return value
}

function decode(segment) {
	try {
		return decodeURIComponent(segment)
	} catch {
		refuse(400, 'InvalidPath', `The path segment '${segment}' is not encoded properly.`)
	}
}

async function object(request) {
	const chunks = []
	for await (const chunk of request) chunks.push(chunk)
	let body
	try {
		body = JSON.parse(Buffer.concat(chunks).toString('utf8'))
	} catch {
		refuse(400, 'InvalidRequestContent', 'The request content is not valid JSON.')
	}
	if (!isObject(body)) refuse(400, 'InvalidRequestContent', 'The request content must be a JSON object.')
	return body
}
