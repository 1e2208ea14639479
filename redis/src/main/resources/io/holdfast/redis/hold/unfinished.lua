-- How many earlier lives of a thing are not finished, kept in its record: one more or one less.
local function unfinished(things, id, change)
  local record = redis.call('HGET', things, id) or '00000000000000000'
  local count = string.sub(record, 17, 17) + change
  if count == 0 and string.byte(record) == 48 then
    redis.call('HDEL', things, id)
  else
    redis.call('HSET', things, id, string.sub(record, 1, 16) .. count .. string.sub(record, 18))
  end
end
