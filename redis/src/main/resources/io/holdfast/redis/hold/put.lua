#!lua
-- Sets or removes data fields of a thing that the lease holds, or of one without holders. The data of a life are one
-- string of LENGTH:BYTES, name and value by turns. An empty value removes the field.
-- KEYS  things data
-- ARGV  sequence lease thing epoch limit fields…
-- REPLY status size
local got = redis.call('HMGET', KEYS[1], ARGV[2], ARGV[3])
local last, record = got[1], got[2]
if not last then
  return {'LAPSED', 0}
end
if ARGV[1] < string.sub(last, 1, 16) then
  return {'STALE', 0}
end
if not record or string.sub(record, 1, 16) ~= ARGV[4] then
  return {'GONE', 0}
end
if string.byte(record, 18) == 44 and not string.find(record, ARGV[2], 18, true) then
  return {'GONE', 0}
end
local key = ARGV[4] .. ARGV[3]
local old, names, values, at = redis.call('HGET', KEYS[2], key) or '', {}, {}, 1
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
if #new > tonumber(ARGV[5]) then
  return {'FULL', #new}
end
if new == '' then
  redis.call('HDEL', KEYS[2], key)
else
  redis.call('HSET', KEYS[2], key, new)
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[1])
return {'OK', #new}
