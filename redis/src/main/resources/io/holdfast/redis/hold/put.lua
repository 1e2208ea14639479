#!lua
-- Sets or removes data fields of a thing that the lease holds, or of one without holders. The data of a life are one
-- string of LENGTH:BYTES, name and value by turns. An empty value removes the field.
-- Repeat: changes nothing, also if another instance wrote meanwhile.
-- KEYS  things data
-- ARGV  sequence lease thing epoch limit fields…
-- REPLY status size
--@include tally.lua
local things, data = KEYS[1], KEYS[2]
local sequence, lease, thing, epoch, limit = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local got = redis.call('HMGET', things, 'T', 'U', lease, thing)
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
local last, record = got[3], got[4]
if not last then
  return {'LAPSED', 0}
end
if sequence == string.sub(last, 1, 16) then
  return {'OK', 0}
end
if sequence < string.sub(last, 1, 16) then
  return {'STALE', 0}
end
if not record or string.sub(record, 1, 16) ~= epoch then
  return {'GONE', 0}
end
if string.byte(record, 18) == 44 and not string.find(record, lease, 18, true) then
  return {'GONE', 0}
end
local key = epoch .. thing
local old, names, values, at = redis.call('HGET', data, key) or '', {}, {}, 1
local function part()
  local colon = string.find(old, ':', at, true)
  local length = tonumber(string.sub(old, at, colon - 1))
  at = colon + 1 + length
  return string.sub(old, colon + 1, at - 1)
end
while at <= #old do
  names[#names + 1] = part()
  values[names[#names]] = part()
end
for i = 6, #ARGV, 2 do
  if not values[ARGV[i]] then
    names[#names + 1] = ARGV[i]
  end
  values[ARGV[i]] = ARGV[i + 1]
end
local parts = {}
for _, name in ipairs(names) do
  if values[name] ~= '' then
    parts[#parts + 1] = #name .. ':' .. name .. #values[name] .. ':' .. values[name]
  end
end
local new = table.concat(parts)
if #new > limit then
  return {'FULL', #new}
end
local raised = raise(things)
if new == '' then
  redis.call('HDEL', data, key)
else
  redis.call('HSET', data, key, new)
end
redis.call('HSET', things, lease, sequence, 'U', raised)
return {'OK', #new}
