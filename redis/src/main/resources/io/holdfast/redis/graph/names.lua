-- Between the two runs of put.lua the values of a shelf are called incoming, and have the mark '', which says how else. A server
-- can refuse the second run after the first: the sync of its disk failed meanwhile, or a client sent the two without a
-- transaction around them. Then those values seem to be gone. So whoever asks for values gives them their name back first,
-- counts that in meta, for those who read with plain commands over a longer time, and has its call repeated. Bytes of another
-- shelf may have come in meanwhile, beside a script that the server did not know: nobody must find them there.
-- Needs: meta, incoming, values, width.

local mark = redis.call('HGET', incoming, '')
if mark then
  local key = values .. string.match(mark, '^%S*')
  if redis.call('RENAMENX', incoming, key) == 0 then
    return redis.error_reply('TORN values and incoming are both there, and incoming has what values should have')
  end
  redis.call('HDEL', key, '')
  local shelf = tonumber(string.match(mark, '^:(%d+)'))
  if shelf then
    for _, field in ipairs(redis.call('HKEYS', key)) do
      if string.byte(field, 7) ~= shelf then redis.call('HDEL', key, field) end
    end
  end
  redis.call('HINCRBY', meta, 'torn', 1)
  return redis.error_reply('TRYAGAIN a transaction was torn apart, and values had the name incoming')
end
