package io.holdfast.redis.aggregate;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;

/** Connections whose calls fail by name, as those of a pool do after the server has gone. */
final class BrokenSource extends DriverSource {

    private final DataSource whole;
    private final Map<String, SQLException> failing = new ConcurrentHashMap<>();

    BrokenSource(DataSource whole) {
        super("none");
        this.whole = whole;
    }

    /** From now on this call of a connection or a statement fails; a close is done all the same. */
    void failing(String method, SQLException failure) {
        failing.put(method, failure);
    }

    @Override
    public Connection getConnection() throws SQLException {
        return broken(Connection.class, whole.getConnection());
    }

    private <T> T broken(Class<T> type, T whole) {
        return type.cast(Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    SQLException failure =
                            type == PreparedStatement.class && method.getName().equals("close")
                                    ? null
                                    : failing.get(method.getName());
                    if (failure != null && !method.getName().equals("close")) {
                        throw failure;
                    }
                    Object result;
                    try {
                        result = method.invoke(whole, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    if (failure != null) {
                        throw failure;
                    }
                    return result instanceof PreparedStatement statement
                            ? broken(PreparedStatement.class, statement)
                            : result;
                }));
    }
}
