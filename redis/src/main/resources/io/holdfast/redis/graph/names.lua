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
    return redis.error_reply('BOTH values and incoming are both there, and incoming has what values should have')
  end
  redis.call('HDEL', key, '')
  local shelf = tonumber(string.match(mark, '^:(%d+)'))
  if shelf then
    local cursor = '0'
    repeat
      local page = redis.call('HSCAN', key, cursor, 'COUNT', '512')
      cursor = page[1]
      for i = 1, #page[2], 2 do -- the byte and the number are those of shelves.lua
        local at = string.byte(page[2][i], 7)
        if not at or at % 64 ~= shelf then redis.call('HDEL', key, page[2][i]) end
      end
    until cursor == '0'
  end
  redis.call('HINCRBY', meta, 'torn', 1)
  return redis.error_reply('TRYAGAIN a transaction was torn apart, and values had the name incoming')
end
